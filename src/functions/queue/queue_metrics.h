// The queue's series. docs/reference/functions.md lists them.
#pragma once

#include <map>
#include <string>

#include "src/functions/queue/call_index.h"
#include "src/platform/base/clock.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::functions {

std::string QueueMetrics(const std::map<std::string, FunctionCounts>& counts, WallTime now,
                         metrics::Format format);

}  // namespace kgpu::functions
