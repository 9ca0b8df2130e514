// Tells people why a requirement is not met and what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "src/gpu/cuda/requirement_facts.h"

namespace kgpu::cuda {

// "image needs cuda>=12.4; driver 535.104.05 supports up to 12.2; use driver 550.54.14 or newer, or
// an image for CUDA 12.2 or older": the requirement (every alternative that this GPU could meet
// with another driver), what the host has, the fix. No alternative in `text` may be malformed or
// met by `gpu`, which is a GPU of `facts`; `source` is the variable that holds `text`, or empty.
std::string Explain(std::string_view text, std::string_view source, const Facts& facts,
                    const GpuKind& gpu);

}  // namespace kgpu::cuda
