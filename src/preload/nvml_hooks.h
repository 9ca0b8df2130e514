// What NVML shows inside a slice: the slice's memory instead of the GPU's.
#pragma once

#include "src/preload/elf_image.h"

namespace kgpu::preload {

inline constexpr char kNvmlSoname[] = "libnvidia-ml.so.1";

// Our function for `name`, or null. `image` is the NVML that the program has loaded; it stays
// loaded from then on.
void* NvmlTarget(const char* name, const ElfImage& image);

}  // namespace kgpu::preload
