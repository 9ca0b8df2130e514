// Faults of GPUs in the agent's saved state: a restart heals none. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "src/gpu/health/health_event.h"

namespace kgpu::faults {

struct SavedFaults {
  std::vector<health::OpenFault> open{};  // without warnings, which come back by themselves
  std::optional<uint64_t> kernel_log_position{};
};

void SaveFaults(const health::Overview& health, boost::json::object& state);
SavedFaults ReadFaults(const boost::json::object& state);

}  // namespace kgpu::faults
