// How this program changes MIG layouts of a host: the probe, nvidia-smi's reset, and the end of
// processes.
#pragma once

#include "src/cli/mig/mig_request.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/mig/apply.h"

namespace kgpu::cli {

// Notes each change on standard error. `options` and `root` must outlive the result.
mig::ApplyDeps MigDepsOf(const MigOptions& options, const host::DriverRoot& root);

}  // namespace kgpu::cli
