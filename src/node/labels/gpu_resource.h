// The GPU labels that depend on how GPUs are allocated: products, counts, replicas, and MIG devices
// by the strategy in force.
#pragma once

#include <map>
#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"

namespace kgpu::labels {

// Adds nvidia.com/gpu.* and, by MIG strategy, nvidia.com/mig.strategy and nvidia.com/mig-*.
// Strategy and sharing are those of the first pool that takes the resource's devices. Precondition:
// at least one GPU.
void AddResourceLabels(const device::Snapshot& snapshot, const config::NodeConfig& config,
                       std::map<std::string, std::string>& labels);

}  // namespace kgpu::labels
