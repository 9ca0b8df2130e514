// Converts the configuration file of NVIDIA's device plugin (version v1) to a NodeConfig.
#pragma once

#include <string_view>

#include "src/node/config/foreign.h"

namespace kgpu::config {

// YAML or JSON, by the suffix of `file`. Honours what NVIDIA's plugin reads but then ignores
// (resource names, renames, lists of devices to share). Errors: InvalidArgument with every
// position: what NVIDIA's plugin refuses too, and what is not possible here (MPS, Tegra). Source:
// the plugin's api/config/v1.
StatusOr<Converted> ConvertNvidiaConfig(std::string_view text, std::string_view file);

}  // namespace kgpu::config
