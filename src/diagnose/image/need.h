// Which CUDA version an image needs. Private to this module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/diagnose/image/facts.h"
#include "src/gpu/cuda/version.h"

namespace kgpu::image {

struct Need {
  std::optional<cuda::CudaVersion> cuda;  // the newest that anything in the image names
  unsigned update = 0;                    // of that version, if anything names one: 1 for 12.4.1
  bool is_minor_known = true;
  std::vector<std::string> evidence{};  // one line for everything that names one
};

// From CUDA_VERSION and the libraries in the layers; without either, from NVIDIA_REQUIRE_CUDA.
Need NeedOf(const ImageFacts& image);

}  // namespace kgpu::image
