// Makes the plan of a driver's installation.
#pragma once

#include <string>

#include "src/setup/driver/choice.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// Chooses, then asks the distribution's planner for the steps. Pure. Errors: those of Choose, and
// of the planner (Unimplemented, FailedPrecondition: the text says what to do instead).
StatusOr<Plan> PlanDriver(const HostFacts& facts, const Request& request);

// The driver that NVIDIA's installer put here, for people. Pure.
std::string InstallersDriver(const HostFacts& facts);

// The version of the driver that is here and that the plan puts another one in the place of, or the
// other kind of modules; empty: none. Pure.
std::string ReplacedVersion(const HostFacts& facts, const Plan& plan);

}  // namespace kgpu::driver
