// The one-line summary above a report. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// "pending: no node has 2 free nvidia.com/gpu; node-a has 1 free of 8 …", from the rest of the
// report.
std::string VerdictOf(const Report& report);

// "A100-SXM4-80GB, 0000:07:00.0" for a device in the node's annotation kgpu.dev/gpus; empty: not
// found.
std::string CardIn(std::string_view annotation, std::string_view uuid);

}  // namespace kgpu::explain
