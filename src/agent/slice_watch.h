// Acts on containers that use more device memory than their slices allow.
#pragma once

#include <functional>
#include <memory>

#include "src/kube/api/event_recorder.h"
#include "src/node/pods/watch.h"
#include "src/node/share/excess.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

// The event about a container in excess, on its pod: what it uses, what it may, what follows.
kube::Event ExcessEvent(const share::Excess& excess);

// Lives on the loop's thread. Reports at once; kills in the second round, so that a moment's
// measurement ends no program.
class SliceWatch {
 public:
  struct Actions {
    std::function<void(kube::Event)> notify;
    // Kills the processes of the use, on another thread; returns why it cannot.
    std::function<Status(const share::SliceUse&)> kill;
  };

  // `background` runs `actions.kill`, which must outlive its jobs.
  SliceWatch(pods::Background background, Actions actions)
      : background_(std::move(background)), actions_(std::move(actions)) {}

  // Call it once per round of samples, when the owners of their processes are known.
  void OnSample(const share::SliceFacts& facts);

 private:
  void Act(const share::Excess& excess);

  const pods::Background background_;
  const Actions actions_;
  share::ExcessMonitor monitor_;
};

}  // namespace kgpu::agent
