// How the GPUs are by one look at the driver, where no agent has watched them. Pure.
#pragma once

#include "src/cli/observe.h"
#include "src/node/report/health_view.h"

namespace kgpu::cli {

// What the driver's answers and measurements show, by the rules as they are built in: pending row
// remaps, failed calls, links that are down. Rates, and what only an event tells (XIDs), are known
// to an agent alone.
report::HealthReport ReportOf(const Observation& observation);

}  // namespace kgpu::cli
