// How this program changes MIG layouts of a host: the probe, nvidia-smi's reset, and the end of
// processes.
#pragma once

#include <string>

#include "src/cli/mig/mig_request.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/mig/apply.h"

namespace kgpu::cli {

// Notes each change on standard error. `options` and `root` must outlive the result.
mig::ApplyDeps MigDepsOf(const MigOptions& options, const host::DriverRoot& root);

// How long a program has the GPU before the next one: 0 the driver's default, 1 short, 2 medium, 3
// long. Errors: FailedPrecondition (no nvidia-smi, or its reason).
Status SetTimeSlice(const host::DriverRoot& root, const std::string& gpu, unsigned time_slice);

}  // namespace kgpu::cli
