// Asks the probe for everything, once, and hands the answers over together.
#pragma once

#include <functional>
#include <memory>

#include "src/gpu/probe/client.h"
#include "src/node/inventory/reading.h"

namespace kgpu::inventory {

// How a pass ended: the answers, or the driver's word that it is gone as a whole.
struct ReadOutcome {
  nvml::Return driver_result = nvml::kSuccess;
  Reading reading;  // complete when driver_result is success
};

enum class Events { kRegister, kLeave };

// Asks the driver for its GPUs, registers for the events of each when `events` says so, then asks
// each GPU for everything. `done` is called once, on the loop; never when the probe goes down
// first. `client` and `clock` outlive the pass.
void ReadAll(probe::Client& client, const Clock& clock, Events events,
             std::function<void(const ReadOutcome&)> done);

}  // namespace kgpu::inventory
