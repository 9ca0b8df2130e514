// Remembers devices that vanish, so that the kubelet does not consider them healthy.
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

// If a device is no longer in a resource's list, the kubelet reports it as healthy to the pods that
// hold it. So a device that vanishes (card lost or removed, MIG device destroyed, driver unloaded)
// stays in its resource as unhealthy for a while. A device that is present but unassigned is not
// kept: it has not vanished. Lives on the owner's thread.
class Roster {
 public:
  struct Options {
    // How long to keep a vanished device while the driver answers.
    std::chrono::nanoseconds grace = std::chrono::minutes(10);
    // Limit for vanished devices while the driver answers; those that vanished first are dropped
    // first. MIG devices that are created and destroyed all day get a new name each time, and every
    // change goes through all kept devices.
    size_t max_gone = 128;
    // The limit while the driver does not answer: enough for all devices.
    size_t max_silent = 4'096;
  };

  explicit Roster(Options options) : options_(options) {}

  // `fresh`, plus the vanished devices at the end of their resources. While the driver is not
  // ready, nothing is known about devices, and they are kept without a time limit. Call it again
  // with the same `fresh` at next_expiry().
  Assignment Update(Assignment fresh, bool is_driver_ready, SteadyTime now);

  // When the next device will be dropped; nothing if none is due.
  std::optional<SteadyTime> next_expiry() const;

  // Forgets everything: a new configuration moves devices to other resources on purpose.
  void Forget() { known_.clear(); }
  // Forgets the devices of one GPU: it was partitioned on purpose, and nobody used what is gone.
  void Forget(const device::GpuUuid& gpu);

 private:
  struct Known {
    std::string resource;
    bool is_local = false;
    bool by_claims = false;
    sharing::Share share;
    std::vector<Slot> slots;
    std::optional<SteadyTime> expiry;  // if it vanished while the driver was ready
  };

  void ForgetPresent(const Assignment& fresh);
  void Age(bool is_driver_ready, SteadyTime now);
  void DropOverflow(size_t max_gone);
  static void AddGone(const Known& known, bool is_driver_ready, Assignment& out);

  Options options_;
  std::map<std::string, Known> known_;  // by device UUID
};

}  // namespace kgpu::pools
