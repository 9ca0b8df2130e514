// The one line above a report. Pure.
#pragma once

#include <string>
#include <string_view>

#include "src/diagnose/explain/explain.h"

namespace kgpu::explain {

// "pending: no node has 2 free nvidia.com/gpu; node-a has 1 free of 8 …", of all else that the
// report holds.
std::string VerdictOf(const Report& report);

// "A100-SXM4-80GB, 0000:07:00.0" of a device in the node's annotation kgpu.dev/gpus; empty: it is
// not there.
std::string CardIn(std::string_view annotation, std::string_view uuid);

}  // namespace kgpu::explain
