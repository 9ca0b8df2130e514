#include "testing/driver/libnvidia_ml/handles.h"

namespace kgpu::sim {
namespace {

constexpr uint32_t kPerGpu = kMaxGpuInstances * kMaxComputeInstances;

// Only the addresses count; `volatile` keeps equal tables from being merged.
constinit const volatile char kGpus[kMaxGpus] = {};
constinit const volatile char kMigDevices[kMaxGpus * kPerGpu] = {};
constinit const volatile char kGpuInstances[kMaxGpus * kMaxGpuInstances] = {};
constinit const volatile char kComputeInstances[kMaxGpus * kPerGpu] = {};

template <typename Handle, size_t kSize>
Handle At(const volatile char (&table)[kSize], uint32_t index) {
  return reinterpret_cast<Handle>(const_cast<char*>(&table[index]));
}

template <typename Handle, size_t kSize>
bool IndexOf(const volatile char (&table)[kSize], Handle handle, uint32_t& index) {
  auto offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(&table[0]);
  if (offset >= kSize) {
    return false;
  }
  index = static_cast<uint32_t>(offset);
  return true;
}

uint32_t FlatIndex(uint32_t slot, uint32_t gpu_instance, uint32_t compute_instance) {
  return slot * kPerGpu + gpu_instance * kMaxComputeInstances + compute_instance;
}

}  // namespace

nvml::Device GpuHandle(uint32_t slot) {
  return At<nvml::Device>(kGpus, slot);
}

nvml::Device MigHandle(uint32_t slot, uint32_t gpu_instance, uint32_t compute_instance) {
  return At<nvml::Device>(kMigDevices, FlatIndex(slot, gpu_instance, compute_instance));
}

nvml::GpuInstance GpuInstanceHandle(uint32_t slot, uint32_t gpu_instance) {
  return At<nvml::GpuInstance>(kGpuInstances, slot * kMaxGpuInstances + gpu_instance);
}

nvml::ComputeInstance ComputeInstanceHandle(uint32_t slot, uint32_t gpu_instance,
                                            uint32_t compute_instance) {
  return At<nvml::ComputeInstance>(kComputeInstances,
                                   FlatIndex(slot, gpu_instance, compute_instance));
}

bool Decode(nvml::Device device, Target& target) {
  uint32_t index = 0;
  if (IndexOf(kGpus, device, index)) {
    target = {.slot = index};
    return true;
  }
  if (!IndexOf(kMigDevices, device, index)) {
    return false;
  }
  target = {.slot = index / kPerGpu,
            .is_mig = true,
            .gpu_instance = index % kPerGpu / kMaxComputeInstances,
            .compute_instance = index % kMaxComputeInstances};
  return true;
}

bool Decode(nvml::GpuInstance instance, InstanceTarget& target) {
  uint32_t index = 0;
  if (!IndexOf(kGpuInstances, instance, index)) {
    return false;
  }
  target = {.slot = index / kMaxGpuInstances, .gpu_instance = index % kMaxGpuInstances};
  return true;
}

bool Decode(nvml::ComputeInstance instance, InstanceTarget& target) {
  uint32_t index = 0;
  if (!IndexOf(kComputeInstances, instance, index)) {
    return false;
  }
  target = {.slot = index / kPerGpu,
            .gpu_instance = index % kPerGpu / kMaxComputeInstances,
            .compute_instance = index % kMaxComputeInstances};
  return true;
}

}  // namespace kgpu::sim
