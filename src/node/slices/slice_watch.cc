#include "src/node/slices/slice_watch.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "src/node/slices/kill_processes.h"
#include "src/node/slices/slice_events.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::slices {
namespace {

constexpr unsigned kRoundsBeforeAction = 2;

// The first rounds of an excess, and then every hundredth: it is one event that repeats.
bool IsNoted(const slices::Excess& excess) {
  constexpr unsigned kEvery = 100;
  return excess.rounds <= kRoundsBeforeAction || excess.rounds % kEvery == 0;
}

std::string PodOf(const slices::SliceUse& use) {
  return fmt::format("{}/{}", use.user.pod_namespace, use.user.pod);
}

}  // namespace

StatusOr<unsigned> KillInPod(const sys::Root& host, const slices::SliceUse& use) {
  const std::string& uid = use.user.pod_uid;
  if (uid.empty()) {
    return FailedPrecondition("the UID of pod {}/{} is not known yet", use.user.pod_namespace,
                              use.user.pod);
  }
  RETURN_IF_ERROR(slices::CheckPidNamespace(host));
  return slices::KillProcesses(use.processes,
                               [&](uint32_t pid) { return slices::IsInPod(host, pid, uid); });
}

void SliceWatch::OnSample(const slices::SliceFacts& facts, std::optional<SteadyTime> listed,
                          SteadyTime now, std::chrono::milliseconds every) {
  const std::vector<slices::Excess> found = monitor_.Update(slices::SliceUsesOf(facts), now, every);
  if (found.empty()) {
    problem_.clear();
  }
  for (const slices::Excess& excess : found) {
    const slices::SliceUse& use = excess.use;
    if (excess.is_new_round && IsNoted(excess)) {
      KGPU_LOG(kWarning, "memory limit exceeded", {"pod", PodOf(use)},
               {"container", use.user.container}, {"device", use.device_uuid},
               {"used", FormatBytes(use.used)}, {"limit", FormatBytes(use.limit)});
      actions_.notify(ExcessEvent(excess));
    }
    const bool is_sure = facts.pods.problem.empty() && listed && *listed > excess.since;
    if (excess.rounds >= kRoundsBeforeAction && is_sure) {
      Act(excess);
    }
  }
}

void SliceWatch::Act(const slices::Excess& excess) {
  switch (excess.use.on_excess) {
    case sharing::OnExcess::kEvent:
      return;
    case sharing::OnExcess::kEvict:
      if (const Status asked = actions_.evict(excess.use); !asked.ok()) {
        NoteProblem(excess.use, std::string(Message(asked)));
      }
      return;
    case sharing::OnExcess::kKill:
      return Kill(excess);
  }
}

void SliceWatch::NoteProblem(const slices::SliceUse& use, std::string problem) {
  if (problem != problem_) {
    KGPU_LOG(kError, "memory limit not enforced", {"pod", PodOf(use)}, {"problem", problem});
    problem_ = std::move(problem);
  }
}

void SliceWatch::Kill(const slices::Excess& excess) {
  const bool is_accepted = background_(
      [this, excess, kill = actions_.kill]() -> std::function<void()> {
        return [this, excess, killed = kill(excess.use)] {
          if (!killed.ok()) {
            NoteProblem(excess.use, std::string(Message(killed.status())));
          } else if (*killed > 0) {
            actions_.notify(KilledEvent(excess.use, *killed));
          }
        };
      },
      [](const Status&) {});
  if (!is_accepted) {
    NoteProblem(excess.use, "too much work waits: next round");
  }
}

}  // namespace kgpu::slices
