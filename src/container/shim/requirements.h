// What an image demands of the driver, and the opt-in answer to a demand that is too high.
#pragma once

#include <string_view>
#include <vector>

#include "src/container/shim/config.h"
#include "src/container/shim/resolve.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

// Holds NVIDIA_REQUIRE_* and CUDA_VERSION of `env` against the host and the GPUs of `grant`. Where
// they are not met and the admin named a folder of forward-compatibility libraries below `root`
// with which they would be, those libraries replace the driver's in the grant. Nothing is checked
// for a grant that has nothing of the driver. Errors: FailedPrecondition (not met: demand, host and
// fix), InvalidArgument (malformed), those of the index.
Status MeetRequirements(const std::vector<std::string_view>& env, const Config& config,
                        IndexReader& reader, const sys::Root& root, Grant& grant);

}  // namespace kgpu::shim
