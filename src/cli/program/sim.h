// Hands over to kgpu-sim.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cli {

// Replaces this process by kgpu-sim; only returns on failure. This program contains no part of the
// simulation.
Status RunSim(const std::vector<std::string>& arguments);

}  // namespace kgpu::cli
