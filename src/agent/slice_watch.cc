#include "src/agent/slice_watch.h"

#include <fmt/format.h>

#include <utility>

#include "src/node/share/kill_processes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::agent {
namespace {

constexpr unsigned kRoundsBeforeKill = 2;

// The first rounds of an excess, and then every hundredth: it is one event that repeats.
bool IsNoted(const share::Excess& excess) {
  constexpr unsigned kEvery = 100;
  return excess.rounds <= kRoundsBeforeKill || excess.rounds % kEvery == 0;
}

kube::Event EventOf(const share::SliceUse& use, std::string_view reason, std::string_view action,
                    std::string_view follows) {
  return {.is_warning = true,
          .reason = std::string(reason),
          .action = std::string(action),
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

}  // namespace

kube::Event ExcessEvent(const share::Excess& excess) {
  const bool kills = excess.use.on_excess == config::OnExcess::kKill;
  return EventOf(
      excess.use, "GPUMemoryExceeded", "Measuring",
      kills ? "its processes on the GPU are killed if this goes on" : "request a larger slice");
}

kube::Event KilledEvent(const share::SliceUse& use, unsigned processes) {
  return EventOf(use, "GPUMemoryKilled", "Killing",
                 fmt::format("{} of its processes on the GPU were killed", processes));
}

StatusOr<unsigned> KillInPod(const sys::Root& host, const share::SliceUse& use) {
  const std::string& uid = use.user.pod_uid;
  if (uid.empty()) {
    return FailedPrecondition("the UID of pod {}/{} is not known yet", use.user.pod_namespace,
                              use.user.pod);
  }
  RETURN_IF_ERROR(share::CheckPidNamespace(host));
  return share::KillProcesses(use.processes,
                              [&](uint32_t pid) { return share::IsInPod(host, pid, uid); });
}

void SliceWatch::OnSample(const share::SliceFacts& facts, std::optional<SteadyTime> listed,
                          SteadyTime now) {
  for (const share::Excess& excess : monitor_.Update(share::SliceUsesOf(facts), now)) {
    const share::SliceUse& use = excess.use;
    if (IsNoted(excess)) {
      KGPU_LOG(kWarning, "memory limit exceeded",
               {"pod", fmt::format("{}/{}", use.user.pod_namespace, use.user.pod)},
               {"container", use.user.container}, {"device", use.device_uuid},
               {"used", FormatBytes(use.used)}, {"limit", FormatBytes(use.limit)});
      actions_.notify(ExcessEvent(excess));
    }
    const bool is_sure = facts.pods.problem.empty() && listed && *listed > excess.since;
    if (use.on_excess == config::OnExcess::kKill && excess.rounds >= kRoundsBeforeKill && is_sure) {
      Kill(use);
    }
  }
}

void SliceWatch::Kill(const share::SliceUse& use) {
  const bool is_accepted = background_(
      [this, use, kill = actions_.kill]() -> std::function<void()> {
        return [this, use, killed = kill(use)] {
          if (!killed.ok()) {
            KGPU_LOG(kError, "memory limit not enforced", {"problem", Message(killed.status())});
          } else if (*killed > 0) {
            actions_.notify(KilledEvent(use, *killed));
          }
        };
      },
      [](const Status&) {});
  if (!is_accepted) {
    KGPU_LOG(kWarning, "memory limit not enforced", {"problem", "too much work waits: next round"});
  }
}

}  // namespace kgpu::agent
