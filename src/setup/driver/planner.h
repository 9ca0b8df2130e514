// Plans the installation of a driver.
#pragma once

#include <string>

#include "src/setup/driver/choice.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// Chooses a driver, then gets the steps from the distribution's planner. Pure. Errors: those of
// Choose, and of the planner (FailedPrecondition: the text says what to do instead).
StatusOr<Plan> PlanDriver(const HostFacts& facts, const Request& request);

// The driver that NVIDIA's installer installed, for people. Pure.
std::string InstallersDriver(const HostFacts& facts);

// The version of the current driver if the plan replaces it, or its kind of modules; empty: it does
// not. Pure.
std::string ReplacedVersion(const HostFacts& facts, const Plan& plan);

}  // namespace kgpu::driver
