// What an image requires of the driver, and the opt-in fix if it requires too much.
#pragma once

#include <string_view>
#include <vector>

#include "src/container/shim/config.h"
#include "src/container/shim/resolve.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

// Checks NVIDIA_REQUIRE_* and CUDA_VERSION in `env` against the host and the GPUs of `grant`. If
// they are not met, but would be with the forward-compatibility libraries in the folder that the
// admin configured, below `root`, those libraries replace the driver's in the grant. Checks nothing
// for a grant without parts of the driver. Errors: FailedPrecondition (not met: requirement, host
// and fix), InvalidArgument (malformed), those of the index.
Status MeetRequirements(const std::vector<std::string_view>& env, const Config& config,
                        IndexReader& reader, const sys::Root& root, Grant& grant);

}  // namespace kgpu::shim
