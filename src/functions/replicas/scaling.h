// Numbers of replicas that all backends decide alike.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// The replicas that so many calls need, within the function's limits.
int64_t NeededReplicas(const Scaling& scaling, int64_t concurrency, int64_t calls);

// Sets the minimum of a function that is deployed under `key`. Errors: InvalidArgument (over its
// maximum).
Status SetMinimum(Function& function, std::string_view key, int64_t replicas);

}  // namespace kgpu::functions
