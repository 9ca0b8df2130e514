// The configuration file of NVIDIA's device plugin (version v1) as a NodeConfig.
#pragma once

#include <string_view>

#include "src/node/config/foreign.h"

namespace kgpu::config {

// YAML or JSON, by the ending of `file`. What NVIDIA's plugin reads and then drops (resources'
// names, renames, lists of devices to share) is honoured. Errors: InvalidArgument with every place:
// what NVIDIA's plugin refuses too, and what cannot be done here at all (MPS, Tegra).
// Source: the plugin's api/config/v1.
StatusOr<Converted> ConvertNvidiaConfig(std::string_view text, std::string_view file);

}  // namespace kgpu::config
