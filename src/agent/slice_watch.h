// Acts on containers that use more device memory than their slices allow.
#pragma once

#include <functional>
#include <optional>

#include "src/kube/api/event_recorder.h"
#include "src/node/pods/watch.h"
#include "src/node/share/excess.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// The event about a container in excess, on its pod: what it uses, what it may, what follows.
kube::Event ExcessEvent(const share::Excess& excess);
// The one after its processes have been killed.
kube::Event KilledEvent(const share::SliceUse& use, unsigned processes);

// Kills the processes of a use that are still in its pod; returns how many. Errors:
// FailedPrecondition (another PID namespace, the pod's UID is unknown), PermissionDenied.
StatusOr<unsigned> KillInPod(const sys::Root& host, const share::SliceUse& use);

// Lives on the loop's thread. Reports at once. Kills in the second round, so that a moment's
// measurement ends no program, and only by a list of pods that is newer than the excess: the same
// pod may have been created again with larger slices.
class SliceWatch {
 public:
  struct Actions {
    std::function<void(kube::Event)> notify;
    // Kills the processes of the use, on another thread; returns how many, or why it cannot.
    std::function<StatusOr<unsigned>(const share::SliceUse&)> kill;
  };

  // `background` runs a copy of `actions.kill`; it runs nothing on the loop once this is gone.
  SliceWatch(pods::Background background, Actions actions)
      : background_(std::move(background)), actions_(std::move(actions)) {}

  // Call it once per round of samples, when the owners of their processes are known. `listed` is
  // when the kubelet was asked for the pods.
  void OnSample(const share::SliceFacts& facts, std::optional<SteadyTime> listed, SteadyTime now);

 private:
  void Kill(const share::SliceUse& use);

  const pods::Background background_;
  const Actions actions_;
  share::ExcessMonitor monitor_;
};

}  // namespace kgpu::agent
