// Changes what a device is only while nobody uses it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/node/pools/assignment.h"
#include "src/platform/base/clock.h"

namespace kgpu::pools {

// When a configuration changes what a device is (another resource, another number of slots, other
// limits; a whole GPU or its MIG devices), the device is first withdrawn: the kubelet gives it to
// nobody. Once no pod holds it, it is shown as what it is now. A device that is new is shown at
// once. Lives on the owner's thread.
class ChangeGuard {
 public:
  // Why the device may not change yet, for people; empty: it may. `since` is when it was withdrawn:
  // what was given out before then must be known.
  using Obstacle = std::function<std::string(const std::string& device_uuid, SteadyTime since)>;

  // What the kubelet was shown of a device.
  struct Shape {
    std::string card;        // the UUID of its GPU
    uint64_t slots = 0;      // a hash of its resources, slots and limits
    uint64_t last_seen = 0;  // counts the calls of Apply
    bool operator==(const Shape&) const = default;
  };
  using Shapes = std::map<std::string, Shape>;  // by device UUID

  // Removes the slots of devices that may not change yet from `assignment`, and adds the devices to
  // the unassigned ones, with the reason. `before` is what is shown now.
  void Apply(Assignment& assignment, const Assignment& before, SteadyTime now,
             const Obstacle& obstacle);
  // Before the first Apply: what the agent showed before it was restarted, under whatever
  // configuration, and the slots that devices had then or before that.
  void Recall(Shapes shapes, std::vector<Resource> slots) {
    shown_ = std::move(shapes);
    recalled_.resources = std::move(slots);
  }
  const Shapes& shapes() const { return shown_; }
  // The slots that withdrawn devices had: containers may still use them.
  const Assignment& held() const { return held_; }
  // Those, and recalled ones of devices that are not back yet.
  std::vector<Resource> MakeRecall() const;
  // When the last device was withdrawn that still waits; nothing: none waits. Call Apply again
  // later.
  std::optional<SteadyTime> waiting_since() const;

 private:
  std::string ObstacleTo(const std::string& device, const Shape& shape, SteadyTime now,
                         const Obstacle& obstacle);
  bool Hold(const std::string& device, const Assignment& before);
  void ForgetOldest(const Shapes& current, const Obstacle& obstacle);

  Shapes shown_;
  std::map<std::string, SteadyTime> withdrawn_;  // since when
  Assignment held_;
  Assignment recalled_;  // of devices that no Apply has seen yet
  uint64_t round_ = 0;
};

}  // namespace kgpu::pools
