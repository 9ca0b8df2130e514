// The shortest way from a verdict on a GPU to the kubelet's list: if only health has changed, keeps
// the assignment and updates its health.
#pragma once

#include "src/gpu/device/snapshot.h"
#include "src/node/pools/assignment.h"

namespace kgpu::pools {

// Whether the snapshots only differ in version and health of GPUs and MIG devices.
bool DifferInHealthAlone(const device::Snapshot& a, const device::Snapshot& b);

// The health of a GPU, or of one of its MIG devices: nothing is healthy on an unhealthy card. `mig`
// is null for the whole GPU.
const device::Health& HealthOf(const device::Gpu& gpu, const device::MigDevice* mig);

// Gives the slots their health in `snapshot`; slots of devices that it does not have keep
// theirs.
void UpdateHealth(const device::Snapshot& snapshot, Assignment& assignment);

}  // namespace kgpu::pools
