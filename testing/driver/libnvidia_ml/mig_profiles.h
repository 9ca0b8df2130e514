// MIG profiles of a GPU, as NVML describes them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "testing/driver/state_gpu.h"

namespace kgpu::sim {

// By NVML_GPU_INSTANCE_PROFILE_*, by profile id, and of an existing GPU instance; null: none.
const SimMigProfile* ProfileByIndex(const SimGpu& gpu, uint32_t index);
const SimMigProfile* ProfileById(const SimGpu& gpu, uint32_t id);
const SimMigProfile* ProfileOfInstance(const SimGpu& gpu, uint32_t gpu_instance);

// Compute slices of an NVML_COMPUTE_INSTANCE_PROFILE_*; 0: unknown.
uint32_t ComputeSlices(uint32_t profile);

// "1g.10gb", or "1c.3g.40gb" for a compute instance of less than its GPU instance.
void MigName(const SimMigProfile& profile, uint32_t compute_slices, char* text, size_t size);

}  // namespace kgpu::sim
