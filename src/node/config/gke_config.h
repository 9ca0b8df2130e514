// gpu_config.json of GKE's device plugin as a NodeConfig.
#pragma once

#include <string_view>

#include "src/node/config/foreign.h"

namespace kgpu::config {

// Errors: InvalidArgument with every place; MPS is one.
// Source: GKE's container-engine-accelerators, GPUConfig.
StatusOr<Converted> ConvertGkeConfig(std::string_view text, std::string_view file);

}  // namespace kgpu::config
