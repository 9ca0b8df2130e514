// MIG layouts in terms of requests: what GPUs can be partitioned into, what they are, and single
// changes. Thread: the probe's main thread.
#pragma once

#include "src/gpu/probe/child/driver.h"
#include "src/gpu/probe/mig_protocol.h"

namespace kgpu::probe::child {

class Partitions {
 public:
  // Must outlive this object.
  explicit Partitions(Driver& driver) : driver_(driver) {}

  nvml::Return ReadProfiles(uint32_t gpu, MigProfilesPayload* payload);
  nvml::Return ReadInstances(uint32_t gpu, MigInstancesPayload* payload);
  nvml::Return SetMode(uint32_t gpu, bool is_enabled, MigModePayload* payload);
  nvml::Return CreateGpuInstance(uint32_t gpu, MigPlace place, GpuInstancePayload* payload);
  nvml::Return DestroyGpuInstance(uint32_t gpu, uint32_t id);
  // The first compute instance profile with so many slices.
  nvml::Return CreateComputeInstance(uint32_t gpu, MigPart part, ComputeInstancePayload* payload);
  nvml::Return DestroyComputeInstance(uint32_t gpu, MigPart part);

 private:
  bool ReadProfile(nvml::Device device, uint32_t index, MigProfileEntry* entry);
  void ReadStarts(nvml::Device device, MigProfileEntry* entry);
  nvml::Return AddInstances(nvml::Device device, uint32_t profile_id, MigInstancesPayload* payload);
  void AddComputeInstances(nvml::GpuInstance instance, GpuInstanceEntry* entry);
  nvml::Return Instance(uint32_t gpu, uint32_t id, nvml::GpuInstance* instance);

  Driver& driver_;
};

}  // namespace kgpu::probe::child
