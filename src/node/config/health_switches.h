// The words by which other device plugins are configured which errors count against a GPU, as ours.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/config/node_config.h"

namespace kgpu::config {

// Of GKE's plugin: only these XIDs make a device unhealthy, and 48 always.
void SetCriticalXids(std::span<const uint64_t> xids, HealthConfig& health);

// What the environment says, "NAME=value": DP_DISABLE_HEALTHCHECKS and DP_ENABLE_HEALTHCHECKS of
// NVIDIA's plugin, XID_CONFIG of GKE's. An entry that the configuration has for a rule of its own
// stays what it is but for whether it is unhealthy. Returns notes for people: one for each variable
// that counted, and for each word that is none.
std::vector<std::string> ApplyHealthSwitches(std::span<const std::string> environment,
                                             HealthConfig& health);

}  // namespace kgpu::config
