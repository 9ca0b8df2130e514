// Groups the GPUs of a host that reach each other over NVLink.
#pragma once

#include <vector>

#include "src/gpu/device/gpu.h"

namespace kgpu::labels {

// A number for each GPU, in the given order: GPUs that NVLinks connect, directly or through others,
// have the same number. Numbers start at 0 in the order of each domain's first GPU; a GPU without
// NVLinks is its own domain.
std::vector<unsigned> NvLinkDomains(const std::vector<device::Gpu>& gpus);

}  // namespace kgpu::labels
