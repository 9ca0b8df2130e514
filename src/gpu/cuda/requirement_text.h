// Why a requirement is not met and what to do about it, for people.
#pragma once

#include <string>
#include <string_view>

#include "src/gpu/cuda/requirement_facts.h"

namespace kgpu::cuda {

// "image needs cuda>=12.4; driver 535.104.05 supports up to 12.2; use driver 550.54.14 or newer, or
// an image for CUDA 12.2 or older": what is asked for (every alternative that this GPU could meet
// with another driver), what there is, the fix. `text` has no alternative that is met by `gpu`, a
// GPU of `facts`, and none that is malformed; `source` is the variable that holds it, or empty.
std::string Explain(std::string_view text, std::string_view source, const Facts& facts,
                    const GpuKind& gpu);

}  // namespace kgpu::cuda
