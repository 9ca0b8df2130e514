// MIG: GPU instances and compute instances.
#include <initializer_list>

#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/change.h"
#include "testing/driver/libnvidia_ml/mig_profiles.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotFound;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

bool HasMigOn(const SimGpu& gpu) {
  return gpu.mig.is_capable != 0 && gpu.mig.mode != 0;
}

}  // namespace

// GPU instances.

namespace {

// A function on GPU instances of a GPU with MIG on.
template <typename Read>
Return InstancesCall(const char* name, Device device, bool has_arguments, Read&& read) {
  return GpuCall(name, device, has_arguments,
                 [&](const SimGpu& gpu) { return HasMigOn(gpu) ? read(gpu) : kErrorNotSupported; });
}

}  // namespace

KGPU_NVML nvmlDeviceGetGpuInstances(Device device, uint32_t profile_id,
                                    nvml::GpuInstance* instances, uint32_t* count) {
  Target target;
  Return checked = CheckArguments(instances != nullptr && count != nullptr, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  return InstancesCall("nvmlDeviceGetGpuInstances", device, true, [&](const SimGpu& gpu) {
    uint32_t found = 0;
    if (ProfileById(gpu, profile_id) == nullptr) {
      return kErrorNotSupported;
    }
    for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
      const SimGpuInstance* instance = FindGpuInstance(gpu, gi);
      if (instance != nullptr && instance->profile_id == profile_id) {
        instances[found++] = GpuInstanceHandle(target.slot, gi);
      }
    }
    *count = found;
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetGpuInstanceById(Device device, uint32_t id, nvml::GpuInstance* instance) {
  Target target;
  Return checked = CheckArguments(instance != nullptr, device, target);
  if (checked != kSuccess) {
    return checked;
  }
  return InstancesCall("nvmlDeviceGetGpuInstanceById", device, true, [&](const SimGpu& gpu) {
    if (FindGpuInstance(gpu, id) == nullptr) {
      return kErrorNotFound;
    }
    *instance = GpuInstanceHandle(target.slot, id);
    return kSuccess;
  });
}

namespace {

// A function of an existing GPU instance.
template <typename Read>
Return InstanceCall(const char* name, nvml::GpuInstance handle, bool has_arguments, Read&& read) {
  InstanceTarget target;
  if (!has_arguments || !Decode(handle, target)) {
    return SystemCall(name, false, [](const Session&, const SimState&) { return kSuccess; });
  }
  return SlotCall(name, target.slot, [&](const Session&, const SimState& state) {
    const SimGpu& gpu = state.gpus[target.slot];
    const SimGpuInstance* instance = FindGpuInstance(gpu, target.gpu_instance);
    return instance != nullptr ? read(gpu, *instance, target) : kErrorNotFound;
  });
}

}  // namespace

KGPU_NVML nvmlGpuInstanceGetInfo(nvml::GpuInstance handle, nvml::GpuInstanceInfo* info) {
  return InstanceCall(
      "nvmlGpuInstanceGetInfo", handle, info != nullptr,
      [&](const SimGpu&, const SimGpuInstance& instance, const InstanceTarget& target) {
        *info = {.device = GpuHandle(target.slot),
                 .id = target.gpu_instance,
                 .profile_id = instance.profile_id,
                 .placement = {.start = instance.placement_start, .size = instance.placement_size}};
        return kSuccess;
      });
}

namespace {

bool Overlaps(const SimGpu& gpu, uint32_t start, uint32_t size) {
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const SimGpuInstance* other = FindGpuInstance(gpu, gi);
    if (other != nullptr && start < other->placement_start + other->placement_size &&
        other->placement_start < start + size) {
      return true;
    }
  }
  return false;
}

// How many more instances of the profile fit; greedy, which is exact for one profile.
uint32_t RemainingCapacity(const SimGpu& gpu, const SimMigProfile& profile) {
  uint32_t count = 0;
  uint32_t next_free = 0;
  for (uint32_t i = 0; i < profile.placement_count && i < kMaxPlacements; ++i) {
    uint32_t start = profile.placements[i];
    if (start >= next_free && !Overlaps(gpu, start, profile.memory_slices)) {
      ++count;
      next_free = start + profile.memory_slices;
    }
  }
  uint32_t existing = 0;
  for (uint32_t gi = 0; gi < kMaxGpuInstances; ++gi) {
    const SimGpuInstance* other = FindGpuInstance(gpu, gi);
    existing += other != nullptr && other->profile_id == profile.id ? 1 : 0;
  }
  uint32_t left = profile.max_instances > existing ? profile.max_instances - existing : 0;
  return count < left ? count : left;
}

}  // namespace

KGPU_NVML nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, uint32_t profile_id,
                                                    uint32_t* count) {
  return InstancesCall("nvmlDeviceGetGpuInstanceRemainingCapacity", device, count != nullptr,
                       [&](const SimGpu& gpu) {
                         const SimMigProfile* profile = ProfileById(gpu, profile_id);
                         if (profile == nullptr) {
                           return kErrorNotSupported;
                         }
                         *count = RemainingCapacity(gpu, *profile);
                         return kSuccess;
                       });
}

// With null placements, only their number.
KGPU_NVML nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, uint32_t profile_id,
                                                        nvml::Placement* placements,
                                                        uint32_t* count) {
  return GpuCall("nvmlDeviceGetGpuInstancePossiblePlacements", device, count != nullptr,
                 [&](const SimGpu& gpu) {
                   const SimMigProfile* profile =
                       gpu.mig.is_capable != 0 ? ProfileById(gpu, profile_id) : nullptr;
                   if (profile == nullptr) {
                     return kErrorNotSupported;
                   }
                   uint32_t found = 0;
                   for (; found < profile->placement_count && found < kMaxPlacements; ++found) {
                     if (placements != nullptr) {
                       placements[found] = {.start = profile->placements[found],
                                            .size = profile->memory_slices};
                     }
                   }
                   *count = found;
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetGpuInstancePossiblePlacements(Device, uint32_t, nvml::Placement*, uint32_t*)
    KGPU_NVML_ALIAS(nvmlDeviceGetGpuInstancePossiblePlacements_v2);

namespace {

Return CreateGpuInstance(Device device, const char* arguments, nvml::GpuInstance* instance) {
  constexpr char kName[] = "nvmlDeviceCreateGpuInstance";
  Target target;
  Return result = CheckArguments(instance != nullptr, device, target);
  if (result == kSuccess) {
    result = InstancesCall(kName, device, true, [](const SimGpu&) { return kSuccess; });
  }
  if (result != kSuccess) {
    return result;
  }
  Made made{};
  result = ChangeSlot(kName, target.slot, "gi-create", arguments, &made);
  uint32_t id = NumberAfter(made, "gi");
  if (result == kSuccess && id < kMaxGpuInstances) {
    *instance = GpuInstanceHandle(target.slot, id);
  }
  return result;
}

}  // namespace

KGPU_NVML nvmlDeviceCreateGpuInstance(Device device, uint32_t profile_id,
                                      nvml::GpuInstance* instance) {
  char arguments[32];
  (void)snprintf(arguments, sizeof(arguments), "%u", profile_id);
  return CreateGpuInstance(device, arguments, instance);
}

KGPU_NVML nvmlDeviceCreateGpuInstanceWithPlacement(Device device, uint32_t profile_id,
                                                   const nvml::Placement* placement,
                                                   nvml::GpuInstance* instance) {
  char arguments[32] = {};
  if (placement != nullptr) {
    (void)snprintf(arguments, sizeof(arguments), "%u %u", profile_id, placement->start);
  }
  return CreateGpuInstance(device, arguments, placement != nullptr ? instance : nullptr);
}

KGPU_NVML nvmlGpuInstanceDestroy(nvml::GpuInstance handle) {
  InstanceTarget target;
  if (!Decode(handle, target)) {
    return kErrorInvalidArgument;
  }
  char arguments[16];
  (void)snprintf(arguments, sizeof(arguments), "%u", target.gpu_instance);
  return ChangeSlot("nvmlGpuInstanceDestroy", target.slot, "gi-destroy", arguments);
}

// Compute instances.

KGPU_NVML nvmlGpuInstanceGetComputeInstances(nvml::GpuInstance handle, uint32_t profile,
                                             nvml::ComputeInstance* instances, uint32_t* count) {
  return InstanceCall(
      "nvmlGpuInstanceGetComputeInstances", handle, instances != nullptr && count != nullptr,
      [&](const SimGpu& gpu, const SimGpuInstance&, const InstanceTarget& target) {
        uint32_t found = 0;
        for (uint32_t ci = 0; ci < kMaxComputeInstances; ++ci) {
          const SimComputeInstance* entry = FindComputeInstance(gpu, target.gpu_instance, ci);
          if (entry != nullptr && entry->profile == profile) {
            instances[found++] = ComputeInstanceHandle(target.slot, target.gpu_instance, ci);
          }
        }
        *count = found;
        return kSuccess;
      });
}

KGPU_NVML nvmlGpuInstanceGetComputeInstanceById(nvml::GpuInstance handle, uint32_t id,
                                                nvml::ComputeInstance* instance) {
  return InstanceCall("nvmlGpuInstanceGetComputeInstanceById", handle, instance != nullptr,
                      [&](const SimGpu& gpu, const SimGpuInstance&, const InstanceTarget& target) {
                        if (FindComputeInstance(gpu, target.gpu_instance, id) == nullptr) {
                          return kErrorNotFound;
                        }
                        *instance = ComputeInstanceHandle(target.slot, target.gpu_instance, id);
                        return kSuccess;
                      });
}

KGPU_NVML nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvml::GpuInstance handle,
                                                             uint32_t profile, uint32_t* count) {
  return InstanceCall(
      "nvmlGpuInstanceGetComputeInstanceRemainingCapacity", handle, count != nullptr,
      [&](const SimGpu& gpu, const SimGpuInstance& instance, const InstanceTarget&) {
        const SimMigProfile* parent = ProfileById(gpu, instance.profile_id);
        uint32_t slices = ComputeSlices(profile);
        if (parent == nullptr || slices == 0 || slices > parent->compute_slices) {
          return kErrorNotSupported;
        }
        uint32_t used = 0;
        for (const SimComputeInstance& entry : instance.compute_instances) {
          used += entry.exists != 0 ? entry.compute_slices : 0;
        }
        *count = used < parent->compute_slices ? (parent->compute_slices - used) / slices : 0;
        return kSuccess;
      });
}

KGPU_NVML nvmlComputeInstanceGetInfo_v2(nvml::ComputeInstance handle,
                                        nvml::ComputeInstanceInfo* info) {
  InstanceTarget target;
  if (info == nullptr || !Decode(handle, target)) {
    return SystemCall("nvmlComputeInstanceGetInfo", false,
                      [](const Session&, const SimState&) { return kSuccess; });
  }
  return SlotCall(
      "nvmlComputeInstanceGetInfo", target.slot, [&](const Session&, const SimState& state) {
        const SimComputeInstance* instance = FindComputeInstance(
            state.gpus[target.slot], target.gpu_instance, target.compute_instance);
        if (instance == nullptr) {
          return kErrorNotFound;
        }
        *info = {
            .device = GpuHandle(target.slot),
            .gpu_instance = GpuInstanceHandle(target.slot, target.gpu_instance),
            .id = target.compute_instance,
            .profile_id = instance->profile,
            .placement = {.start = instance->placement_start, .size = instance->compute_slices}};
        return kSuccess;
      });
}

KGPU_NVML nvmlComputeInstanceGetInfo(nvml::ComputeInstance, nvml::ComputeInstanceInfo*)
    KGPU_NVML_ALIAS(nvmlComputeInstanceGetInfo_v2);

KGPU_NVML nvmlGpuInstanceCreateComputeInstance(nvml::GpuInstance handle, uint32_t profile,
                                               nvml::ComputeInstance* instance) {
  InstanceTarget target;
  if (instance == nullptr || !Decode(handle, target)) {
    return kErrorInvalidArgument;
  }
  char arguments[32];
  (void)snprintf(arguments, sizeof(arguments), "%u %u", target.gpu_instance, profile);
  Made made{};
  Return result = ChangeSlot("nvmlGpuInstanceCreateComputeInstance", target.slot, "ci-create",
                             arguments, &made);
  uint32_t id = NumberAfter(made, "ci");
  if (result == kSuccess && id < kMaxComputeInstances) {
    *instance = ComputeInstanceHandle(target.slot, target.gpu_instance, id);
  }
  return result;
}

KGPU_NVML nvmlComputeInstanceDestroy(nvml::ComputeInstance handle) {
  InstanceTarget target;
  if (!Decode(handle, target)) {
    return kErrorInvalidArgument;
  }
  char arguments[32];
  (void)snprintf(arguments, sizeof(arguments), "%u %u", target.gpu_instance,
                 target.compute_instance);
  return ChangeSlot("nvmlComputeInstanceDestroy", target.slot, "ci-destroy", arguments);
}

}  // namespace kgpu::sim
