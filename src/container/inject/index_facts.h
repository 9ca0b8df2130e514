// The injection index as facts for checking image requirements.
#pragma once

#include <vector>

#include "src/container/inject/index.h"
#include "src/gpu/cuda/requirement.h"

namespace kgpu::inject {

// The host of `index`, for a container that will see `visible`, devices of the index.
cuda::HostFacts FactsFor(const InjectionIndex& index,
                         const std::vector<const IndexDevice*>& visible);

}  // namespace kgpu::inject
