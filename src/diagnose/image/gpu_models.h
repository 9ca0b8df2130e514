// What is known of GPUs by their models' names, for questions about hosts that are not at hand.
#pragma once

#include <optional>
#include <string_view>

#include "src/gpu/cuda/version.h"

namespace kgpu::image {

struct GpuModel {
  std::string_view word;  // of the name: "A100"
  cuda::ComputeCapability compute;
  std::optional<bool> is_data_center;  // nothing: not of all of them, or not known
};

// By the words of the name, which blanks and dashes part: "NVIDIA A100-SXM4-80GB", "A100", "GeForce
// RTX 4090", "RTX 6000 Ada Generation". Nothing for a model that we do not know. Source: NVIDIA's
// list of compute capabilities.
std::optional<GpuModel> FindGpuModel(std::string_view name);

}  // namespace kgpu::image
