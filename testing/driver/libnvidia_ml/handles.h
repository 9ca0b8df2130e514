// Clients' handles: addresses inside constant tables, so that any pointer can be checked and a
// handle stays the same across nvmlShutdown and nvmlInit, as in the real library.
#pragma once

#include <cstdint>

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state.h"

namespace kgpu::sim {

// The target of a device handle: a GPU, or with is_mig a compute instance of it.
struct Target {
  uint32_t slot = 0;
  bool is_mig = false;
  uint32_t gpu_instance = kUnsupported;
  uint32_t compute_instance = kUnsupported;
};

// The target of a GpuInstance or ComputeInstance handle.
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

// False for pointers that this library never returned.
bool Decode(nvml::Device device, Target& target);
bool Decode(nvml::GpuInstance instance, InstanceTarget& target);
bool Decode(nvml::ComputeInstance instance, InstanceTarget& target);

}  // namespace kgpu::sim
