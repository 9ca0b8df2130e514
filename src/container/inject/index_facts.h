// The injection index as what requirements of images are held against.
#pragma once

#include <vector>

#include "src/container/inject/index.h"
#include "src/gpu/cuda/requirement.h"

namespace kgpu::inject {

// Of the host of `index`, for a container that is to see `visible`, devices of the index.
cuda::HostFacts FactsFor(const InjectionIndex& index,
                         const std::vector<const IndexDevice*>& visible);

}  // namespace kgpu::inject
