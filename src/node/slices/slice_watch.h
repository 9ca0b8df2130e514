// Acts on containers that use more device memory than their slices allow.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/kube/api/event_recorder.h"
#include "src/node/pods/watch.h"
#include "src/node/slices/excess.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::slices {

// Kills the processes of a use that are still in its pod; returns how many. Errors:
// FailedPrecondition (another PID namespace, the pod's UID is unknown), PermissionDenied.
StatusOr<unsigned> KillInPod(const sys::Root& host, const slices::SliceUse& use);

// Lives on the loop's thread. Reports at once. Kills or evicts in the second round, so that a
// moment's measurement ends no program, and only by a list of pods that is newer than the excess:
// the same pod may have been created again with larger slices.
class SliceWatch {
 public:
  struct Actions {
    std::function<void(kube::Event)> notify;
    // Kills the processes of the use, on another thread; returns how many, or why it cannot.
    std::function<StatusOr<unsigned>(const slices::SliceUse&)> kill;
    // Asks for the eviction of the use's pod, on this thread; called again while the excess lasts.
    std::function<Status(const slices::SliceUse&)> evict;
  };

  // `background` runs a copy of `actions.kill`; it runs nothing on the loop once this is gone.
  SliceWatch(pods::Background background, Actions actions)
      : background_(std::move(background)), actions_(std::move(actions)) {}

  // Call it with all samples, when the owners of their processes are known. `listed` is when the
  // kubelet was asked for the pods, `every` the length of a round.
  void OnSample(const slices::SliceFacts& facts, std::optional<SteadyTime> listed, SteadyTime now,
                std::chrono::milliseconds every);

 private:
  void Act(const slices::Excess& excess);
  void Kill(const slices::Excess& excess);
  void NoteProblem(const slices::SliceUse& use, std::string problem);

  const pods::Background background_;
  const Actions actions_;
  slices::ExcessMonitor monitor_;
  std::string problem_;  // why a limit is not enforced, as last logged
};

}  // namespace kgpu::slices
