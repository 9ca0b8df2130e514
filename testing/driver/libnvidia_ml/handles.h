// Handles that clients hold: addresses inside constant tables, so that any pointer can be checked
// and a handle stays the same over nvmlShutdown and nvmlInit, as with the real library.
#pragma once

#include <cstdint>

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// What a device handle names: a GPU, or with is_mig a compute instance of it.
struct Target {
  uint32_t slot = 0;
  bool is_mig = false;
  uint32_t gpu_instance = kUnsupported;
  uint32_t compute_instance = kUnsupported;
};

// What a GpuInstance or ComputeInstance handle names.
struct InstanceTarget {
  uint32_t slot = 0;
  uint32_t gpu_instance = 0;
  uint32_t compute_instance = 0;
};

nvml::Device GpuHandle(uint32_t slot);
nvml::Device MigHandle(uint32_t slot, uint32_t gpu_instance, uint32_t compute_instance);
nvml::GpuInstance GpuInstanceHandle(uint32_t slot, uint32_t gpu_instance);
nvml::ComputeInstance ComputeInstanceHandle(uint32_t slot, uint32_t gpu_instance,
                                            uint32_t compute_instance);

// False for pointers that this library never gave out.
bool Decode(nvml::Device device, Target& target);
bool Decode(nvml::GpuInstance instance, InstanceTarget& target);
bool Decode(nvml::ComputeInstance instance, InstanceTarget& target);

}  // namespace kgpu::sim
