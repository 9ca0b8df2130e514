// Oddities of an assignment that an admin should know about.
#pragma once

#include <string>
#include <vector>

#include "src/node/pools/claims.h"

namespace kgpu::pools {

// Selectors that match nothing on the host, pools that match devices but get none, GPUs of which no
// MIG devices can be made for claims. Says nothing about selectors while the driver does not
// answer: the host's devices are then unknown.
std::vector<std::string> NotesOn(const device::Snapshot& snapshot, const config::NodeConfig& config,
                                 const Claims& claims);

}  // namespace kgpu::pools
