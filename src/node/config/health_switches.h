// Converts other plugins' settings for which errors make a GPU unhealthy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/node_config.h"

namespace kgpu::config {

// GKE's plugin: only these XIDs, and always 48, make a device unhealthy.
void SetCriticalXids(std::span<const uint64_t> xids, HealthConfig& health);

// Applies environment variables ("NAME=value"): DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS
// of NVIDIA's plugin, XID_CONFIG of GKE's. They only change whether a rule makes devices unhealthy;
// everything else in the configuration's own entry for a rule stays. Returns notes for people: one
// for each variable that was applied, and for each invalid word.
std::vector<std::string> ApplyHealthSwitches(std::span<const std::string> environment,
                                             HealthConfig& health);

}  // namespace kgpu::config
