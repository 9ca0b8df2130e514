// The GPUs' health from a single look at the driver, without an agent. Pure functions.
#pragma once

#include "src/cli/base/observe.h"
#include "src/node/report/health_view.h"

namespace kgpu::cli {

// What the driver's answers and measurements show by the built-in rules: pending row remaps,
// failed calls, links that are down. Only an agent knows rates and what only an event reports
// (XIDs).
report::HealthReport ReportOf(const Observation& observation);

}  // namespace kgpu::cli
