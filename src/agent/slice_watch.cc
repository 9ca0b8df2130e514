#include "src/agent/slice_watch.h"

#include <fmt/format.h>

#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::agent {
namespace {

constexpr unsigned kRoundsBeforeKill = 2;

bool IsKilled(const share::Excess& excess) {
  return excess.use.on_excess == config::OnExcess::kKill && excess.rounds >= kRoundsBeforeKill;
}

// The first rounds of an excess, and then every hundredth: it is one event that repeats.
bool IsNoted(const share::Excess& excess) {
  constexpr unsigned kEvery = 100;
  return excess.rounds <= kRoundsBeforeKill || excess.rounds % kEvery == 0;
}

}  // namespace

kube::Event ExcessEvent(const share::Excess& excess) {
  const share::SliceUse& use = excess.use;
  const bool kills = use.on_excess == config::OnExcess::kKill;
  const char* follows = IsKilled(excess) ? "its processes on the GPU are killed"
                        : kills          ? "its processes on the GPU are killed if this goes on"
                                         : "request a larger slice";
  return {.is_warning = true,
          .reason = IsKilled(excess) ? "GPUMemoryKilled" : "GPUMemoryExceeded",
          .action = IsKilled(excess) ? "Killing" : "Measuring",
          .note = fmt::format(
              "container {} uses {} of {}, but its slices allow {}: the limit inside the container "
              "was avoided or is not loaded; {}",
              use.user.container, FormatBytes(use.used), use.device_uuid, FormatBytes(use.limit),
              follows),
          .regarding = {.api_version = "v1",
                        .kind = "Pod",
                        .space = use.user.pod_namespace,
                        .name = use.user.pod,
                        .uid = use.user.pod_uid},
          .subject = fmt::format("{} {}", use.user.container, use.device_uuid)};
}

void SliceWatch::OnSample(const share::SliceFacts& facts) {
  for (const share::Excess& excess : monitor_.Update(share::SliceUsesOf(facts))) {
    Act(excess);
  }
}

void SliceWatch::Act(const share::Excess& excess) {
  if (IsNoted(excess)) {
    const share::SliceUse& use = excess.use;
    KGPU_LOG(kWarning, "memory limit exceeded",
             {"pod", fmt::format("{}/{}", use.user.pod_namespace, use.user.pod)},
             {"container", use.user.container}, {"device", use.device_uuid},
             {"used", FormatBytes(use.used)}, {"limit", FormatBytes(use.limit)});
    actions_.notify(ExcessEvent(excess));
  }
  if (!IsKilled(excess)) {
    return;
  }
  const bool is_accepted = background_(
      [kill = actions_.kill, use = excess.use]() -> std::function<void()> {
        return [status = kill(use)] {
          if (!status.ok()) {
            KGPU_LOG(kError, "memory limit not enforced", {"problem", Message(status)});
          }
        };
      },
      [](const Status&) {});
  if (!is_accepted) {
    KGPU_LOG(kWarning, "memory limit not enforced", {"problem", "too much work waits: next round"});
  }
}

}  // namespace kgpu::agent
