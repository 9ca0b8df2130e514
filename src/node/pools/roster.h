// Remembers devices that vanish, so that a kubelet does not take them for well.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/node/pools/assignment.h"
#include "src/platform/base/clock.h"

namespace kgpu::pools {

// A kubelet reports a device that is no longer in a resource's list as healthy to the pods that
// hold it. So a device that vanishes (card lost or pulled, MIG device destroyed, driver unloaded)
// stays in its resource as unhealthy for a while. A device that is there but unassigned is not
// kept: it has not gone. Lives on the owner's thread.
class Roster {
 public:
  struct Options {
    // How long a vanished device is kept while the driver answers.
    std::chrono::nanoseconds grace = std::chrono::minutes(10);
    // Vanished devices kept at most while the driver answers; those that have been gone for longest
    // are dropped first. MIG devices that are made and destroyed all day have a new name each time,
    // and each change goes through all that is kept.
    size_t max_gone = 128;
    // As long as it does not answer: all that there was.
    size_t max_silent = 4'096;
  };

  explicit Roster(Options options) : options_(options) {}

  // `fresh` and the vanished devices behind it in their resources. While the driver is not ready
  // nothing is known of what there is, and devices are kept without limit of time. Call it again
  // with the same `fresh` at next_expiry().
  Assignment Update(Assignment fresh, bool is_driver_ready, SteadyTime now);

  // When the next device is to be dropped; nothing while none is on its way out.
  std::optional<SteadyTime> next_expiry() const;

  // Drops all that is remembered: another configuration gives devices other resources on purpose.
  void Forget() { known_.clear(); }

 private:
  struct Known {
    std::string resource;
    config::Share share;
    std::vector<Slot> slots;
    std::optional<SteadyTime> expiry;  // of one that is gone while the driver is ready
  };

  void ForgetPresent(const Assignment& fresh);
  void Age(bool is_driver_ready, SteadyTime now);
  void DropOverflow(size_t max_gone);
  static void AddGone(const Known& known, bool is_driver_ready, Assignment& out);

  Options options_;
  std::map<std::string, Known> known_;  // by device UUID
};

}  // namespace kgpu::pools
