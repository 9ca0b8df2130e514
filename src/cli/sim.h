// Dependencies over to kgpu-sim.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// Replaces this process by kgpu-sim; returns only on failure. No line of the simulation is in this
// program.
Status RunSim(const std::vector<std::string>& arguments);

}  // namespace kgpu::cli
