// Changes what a device is only while nobody uses it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/node/pools/assignment.h"
#include "src/platform/base/clock.h"

namespace kgpu::pools {

// When a configuration changes what a device is (another resource, another number of slots, other
// limits), the device is first withdrawn: the kubelet gives it to nobody. Once no pod holds it, it
// is shown as what it is now. A device that is new is shown at once. Lives on the owner's thread.
class ChangeGuard {
 public:
  // Why the device may not change yet, for people; empty: it may. `since` is when it was withdrawn:
  // what was given out before then must be known.
  using Obstacle = std::function<std::string(const std::string& device_uuid, SteadyTime since)>;

  // Removes the slots of devices that may not change yet from `assignment`, and adds the devices to
  // the unassigned ones, with the reason.
  void Apply(Assignment& assignment, SteadyTime now, const Obstacle& obstacle);
  // What devices are before the first Apply: what the agent showed before it was restarted.
  void Recall(const Assignment& assignment);
  // Whether a device waits to change: call Apply again later.
  bool is_waiting() const { return !withdrawn_.empty(); }

 private:
  // By device UUID: its resources, slots and limits as a text.
  using Shapes = std::map<std::string, std::string>;

  static Shapes ShapesOf(const Assignment& assignment);

  Shapes shown_;
  std::map<std::string, SteadyTime> withdrawn_;  // since when
};

}  // namespace kgpu::pools
