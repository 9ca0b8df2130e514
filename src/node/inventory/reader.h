// Queries the probe for everything, once, and returns all answers together.
#pragma once

#include <functional>
#include <memory>

#include "src/gpu/probe/client.h"
#include "src/node/inventory/reading.h"

namespace kgpu::inventory {

// The result of a pass: the answers, or the driver's error if it is gone as a whole.
struct ReadOutcome {
  nvml::Return driver_result = nvml::kSuccess;
  Reading reading;  // complete if driver_result is success
};

enum class Events { kRegister, kLeave };

// Queries the driver for its GPUs, registers for the events of each if `events` says so, then
// queries each GPU for everything. `done` is called once, on the loop; never if the probe goes down
// first. `client` and `clock` must outlive the pass.
void ReadAll(probe::Client& client, const Clock& clock, Events events,
             std::function<void(ReadOutcome)> done);

}  // namespace kgpu::inventory
