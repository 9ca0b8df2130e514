// Adds a kernel to an installed driver: for an update that came without headers, or an older kernel
// that the host may boot again.
#pragma once

#include "src/platform/base/status.h"
#include "src/setup/driver/host_facts.h"
#include "src/setup/driver/plan.h"

namespace kgpu::driver {

// Brings the modules of the driver that `ours` installed to the kernel of `facts`: its headers and
// a build, or its packages of prebuilt modules. Nothing else of the driver changes. Pure. Errors:
// FailedPrecondition (its modules only exist for the kernels they came with; the text says what to
// do instead), and those of the distribution's planner.
StatusOr<Plan> PlanAnotherKernel(const HostFacts& facts, const Plan& ours);

}  // namespace kgpu::driver
