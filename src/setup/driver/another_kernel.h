// One more kernel for a driver that is here: an update that came without headers, or an older
// kernel that the host may start again.
#pragma once

#include "src/platform/base/status.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// What brings the modules of the driver that `ours` installed to the kernel of `facts`: its headers
// and a build, or its packages of built modules. Nothing else of the driver changes. Pure. Errors:
// FailedPrecondition (its modules are for the kernels that they came for; the text says what to do
// instead), and those of the distribution's planner.
StatusOr<Plan> PlanAnotherKernel(const HostFacts& facts, const Plan& ours);

}  // namespace kgpu::driver
