// The shortest way from a verdict on a GPU to the list that the kubelet gets: where nothing but
// health has changed, the assignment stays and takes over the health alone.
#pragma once

#include "src/gpu/device/snapshot.h"
#include "src/node/pools/assignment.h"

namespace kgpu::pools {

// Whether the snapshots are the same but for their versions and the health of GPUs and MIG devices.
bool DifferInHealthAlone(const device::Snapshot& a, const device::Snapshot& b);

// The health of a GPU, or of one of its MIG devices: nothing is healthy on a card that is not.
// `mig` is null for the whole GPU.
const device::Health& HealthOf(const device::Gpu& gpu, const device::MigDevice* mig);

// Gives the slots the health that `snapshot` shows; those of devices that it does not show keep
// theirs.
void UpdateHealth(const device::Snapshot& snapshot, Assignment& assignment);

}  // namespace kgpu::pools
