// Converts gpu_config.json of GKE's device plugin to a NodeConfig.
#pragma once

#include <string_view>

#include "src/node/config/foreign.h"

namespace kgpu::config {

// Errors: InvalidArgument with every position; MPS is an error. Source: GKE's
// container-engine-accelerators, GPUConfig.
StatusOr<Converted> ConvertGkeConfig(std::string_view text, std::string_view file);

}  // namespace kgpu::config
