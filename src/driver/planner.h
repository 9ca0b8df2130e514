// Makes the plan of a driver's installation.
#pragma once

#include "src/driver/choice.h"
#include "src/driver/host_facts.h"
#include "src/driver/plan.h"

namespace kgpu::driver {

// Chooses, then asks the distribution's planner for the steps. Pure. Errors: those of Choose, and
// of the planner (Unimplemented, FailedPrecondition: the text says what to do instead).
StatusOr<Plan> PlanDriver(const HostFacts& facts, const Request& request);

}  // namespace kgpu::driver
