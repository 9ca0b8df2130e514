// Which GPUs of a host reach each other over NVLink.
#pragma once

#include <vector>

#include "src/gpu/device/gpu.h"

namespace kgpu::labels {

// A number for each GPU, in the order given: GPUs that NVLinks connect, also by way of others, have
// the same one. Numbers rise from 0 in the order of each domain's first GPU; a GPU without NVLinks
// is a domain of its own.
std::vector<unsigned> NvLinkDomains(const std::vector<device::Gpu>& gpus);

}  // namespace kgpu::labels
