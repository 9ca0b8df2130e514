// Which CUDA an image needs. Private to this module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/gpu/cuda/version.h"

namespace kgpu::image {

struct Need {
  std::optional<cuda::CudaVersion> cuda;  // the newest that anything in the image names
  unsigned update = 0;                    // of that version, where something names one: 1 of 12.4.1
  bool is_minor_known = true;
  std::vector<std::string> evidence{};  // a line for each thing that names one
};

// By CUDA_VERSION, the libraries of the layers and, where there is neither, NVIDIA_REQUIRE_CUDA.
Need NeedOf(const ImageFacts& image);

}  // namespace kgpu::image
