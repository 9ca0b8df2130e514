// What is odd about an assignment and worth a line to the admin.
#pragma once

#include <string>
#include <vector>

#include "src/node/pools/claims.h"

namespace kgpu::pools {

// Selectors that match nothing of the host, pools that get nothing though they match, GPUs handed
// out whole in MIG mode. Nothing about selectors while the driver does not answer: what the host
// has is not known then.
std::vector<std::string> NotesOn(const device::Snapshot& snapshot, const config::NodeConfig& config,
                                 const Claims& claims);

}  // namespace kgpu::pools
