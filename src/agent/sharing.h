// What a node needs for devices that several containers share: the files of memory slices, a look
// at who uses more than allowed, and changes of devices that nobody uses.
#pragma once

#include <functional>
#include <string>

#include "src/agent/device_changes.h"
#include "src/agent/slice_publisher.h"
#include "src/agent/slice_watch.h"
#include "src/node/pods/watch.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/sys/root.h"

namespace kgpu::agent {

// Lives on the loop's thread.
class Sharing {
 public:
  struct Sources {
    std::function<pods::PodMapPtr()> pods;
    std::function<pods::ListState()> pod_list;
    std::function<void()> look_at_pods;
    std::function<void(kube::Event)> notify;
    std::function<void()> again;    // assigns the devices again
    std::function<void()> changed;  // paths() has changed
  };

  // `loop` must outlive it, `host` also what `background` runs.
  Sharing(EventLoop& loop, const sys::Root& host, const pods::Background& background,
          share::SliceFilesOptions options, Sources sources);

  // What an earlier agent has shown.
  void Recall(pools::ChangeGuard::Shapes shapes) { changes_.Recall(std::move(shapes)); }
  const pools::ChangeGuard::Shapes& shapes() const { return changes_.shapes(); }
  // Takes devices that may not change yet out of `fresh`, and makes the files of its slices.
  void Apply(pools::Assignment& fresh, const pools::Assignment& before);
  // Once per round, when the owners of its processes are known.
  void OnSample(const pools::Assignment& assignment, const device::Snapshot& snapshot,
                const device::SampleSet& samples);
  // Slots of devices that change once nobody uses them.
  const pools::Assignment& held() const { return changes_.held(); }
  const SlicePublisher::Paths& paths() const { return slices_.paths(); }
  // For people; empty: none.
  std::string problem() const { return slices_.problem(); }

 private:
  EventLoop& loop_;
  const Sources sources_;
  SlicePublisher slices_;
  SliceWatch watch_;
  DeviceChanges changes_;
};

}  // namespace kgpu::agent
