// `kgpu explain claim`: why a ResourceClaim has no devices. Pure functions.
#pragma once

#include <string_view>

#include "src/diagnose/explain/dump.h"
#include "src/diagnose/explain/explain.h"

namespace kgpu::claim {

// A report of the kind "claim".
explain::Report ExplainClaim(const explain::Dump& dump, std::string_view space,
                             std::string_view name);

}  // namespace kgpu::claim
