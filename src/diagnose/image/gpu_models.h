// GPU facts by model name, for questions about hosts that we cannot access.
#pragma once

#include <optional>
#include <string_view>

#include "src/gpu/cuda/version.h"

namespace kgpu::image {

struct GpuModel {
  std::string_view word;  // of the name: "A100"
  cuda::ComputeCapability compute;
  std::optional<bool> is_data_center;  // nothing: not all of them, or unknown
};

// Compares the words of the name, separated by blanks and dashes: "NVIDIA A100-SXM4-80GB", "A100",
// "GeForce RTX 4090", "RTX 6000 Ada Generation". Nothing for an unknown model. Source: NVIDIA's
// list of compute capabilities.
std::optional<GpuModel> FindGpuModel(std::string_view name);

}  // namespace kgpu::image
