// What a node needs for devices that several containers share: the files of memory slices, a look
// at who uses more than allowed, and changes of devices that nobody uses.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "src/agent/compute_shares.h"
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
    std::function<Status(const share::SliceUse&)> evict;
    std::function<void()> again;    // assigns the devices again
    std::function<void()> changed;  // paths() has changed
    std::function<void()> paced;    // pace() has changed
  };

  // `loop` must outlive it, `host` also what `background` runs.
  Sharing(EventLoop& loop, const sys::Root& host, const pods::Background& background,
          share::SliceFilesOptions options, Sources sources);

  // What an earlier agent has shown.
  void Recall(pools::ChangeGuard::Shapes shapes, std::vector<pools::Resource> slots) {
    changes_.Recall(std::move(shapes), std::move(slots));
  }
  std::vector<pools::Resource> MakeRecall() const { return changes_.MakeRecall(); }
  const pools::ChangeGuard::Shapes& shapes() const { return changes_.shapes(); }
  // Takes devices that may not change yet out of `fresh`, and makes the files of its slices.
  void Apply(pools::Assignment& fresh, const pools::Assignment& before);
  // With all samples, when the owners of their processes are known. `every` is how often the
  // configuration has them.
  void OnSample(const pools::Assignment& assignment, const device::Snapshot& snapshot,
                const device::SampleSet& samples, std::chrono::milliseconds every);
  // How often to measure for it at least; nothing: it does not need it.
  std::optional<std::chrono::milliseconds> pace() const { return compute_.pace(); }
  // Of the slices in use; never null.
  const telemetry::SliceFiguresPtr& figures() const { return compute_.figures(); }
  // Slots of devices that change once nobody uses them.
  const pools::Assignment& held() const { return changes_.held(); }
  const SlicePublisher::Paths& paths() const { return slices_.paths(); }
  // For people; empty: none.
  std::string problem() const { return slices_.problem(); }

 private:
  EventLoop& loop_;
  const Sources sources_;
  SlicePublisher slices_;
  ComputeShares compute_;
  SliceWatch watch_;
  DeviceChanges changes_;
};

}  // namespace kgpu::agent
