#include "src/gpu/probe/child/partitions.h"

#include <cstring>

#include "src/gpu/nvml/mig_functions.h"

namespace kgpu::probe::child {
namespace {

// A profile can have more placements and instances than a layout holds.
constexpr uint32_t kBuffer = 32;

bool IsMissing(nvml::Return result) {
  return result == nvml::kErrorFunctionNotFound || result == nvml::kErrorArgumentVersionMismatch;
}

template <typename Info>
void FillProfile(const Info& info, MigProfileEntry* entry) {
  entry->profile_id = info.id;
  entry->slices = info.slice_count;
  entry->max_instances = info.instance_count;
  entry->multiprocessors = info.multiprocessor_count;
  entry->copy_engines = info.copy_engine_count;
  entry->decoders = info.decoder_count;
  entry->encoders = info.encoder_count;
  entry->jpegs = info.jpeg_count;
  entry->ofas = info.ofa_count;
  entry->memory_mib = info.memory_size_mb;
}

}  // namespace

bool Partitions::ReadProfile(nvml::Device device, uint32_t index, MigProfileEntry* entry) {
  nvml::GpuInstanceProfileInfoV2 newer{};
  newer.version = nvml::StructVersion<nvml::GpuInstanceProfileInfoV2>(2);
  nvml::Return result =
      driver_.Call(nvml::kDeviceGetGpuInstanceProfileInfoV, device, index, &newer);
  if (result == nvml::kSuccess) {
    FillProfile(newer, entry);
    memcpy(entry->name, newer.name, sizeof(entry->name) - 1);
  } else if (IsMissing(result)) {
    nvml::GpuInstanceProfileInfo older{};
    result = driver_.Call(nvml::kDeviceGetGpuInstanceProfileInfo, device, index, &older);
    FillProfile(older, entry);
  }
  entry->nvml_profile = index;
  return result == nvml::kSuccess;
}

void Partitions::ReadStarts(nvml::Device device, MigProfileEntry* entry) {
  nvml::Placement placements[kBuffer] = {};
  uint32_t count = 0;
  // The first call asks for the number: a profile with more than we have room for has none.
  nvml::Return result =
      driver_.Call(nvml::kDeviceGetGpuInstancePossiblePlacements, device, entry->profile_id,
                   static_cast<nvml::Placement*>(nullptr), &count);
  if (result != nvml::kSuccess || count > kBuffer) {
    return;
  }
  result = driver_.Call(nvml::kDeviceGetGpuInstancePossiblePlacements, device, entry->profile_id,
                        &placements[0], &count);
  if (result != nvml::kSuccess || count > kBuffer) {
    return;
  }
  for (uint32_t i = 0; i < count && entry->start_count < kMaxMigStarts; ++i) {
    entry->memory_slices = placements[i].size;
    entry->starts[entry->start_count++] = static_cast<uint8_t>(placements[i].start);
  }
}

nvml::Return Partitions::ReadProfiles(uint32_t gpu, MigProfilesPayload* payload) {
  nvml::Device device = nullptr;
  if (const nvml::Return result = driver_.Handle(gpu, &device); result != nvml::kSuccess) {
    return result;
  }
  for (uint32_t index = 0; index < kMaxMigProfiles; ++index) {
    MigProfileEntry entry{};
    if (ReadProfile(device, index, &entry)) {
      ReadStarts(device, &entry);
      payload->profiles[payload->count++] = entry;
    }
  }
  return nvml::kSuccess;
}

void Partitions::AddComputeInstances(nvml::GpuInstance instance, GpuInstanceEntry* entry) {
  for (uint32_t profile = 0; profile < nvml::kComputeInstanceProfiles; ++profile) {
    nvml::ComputeInstanceProfileInfo info{};
    if (driver_.Call(nvml::kGpuInstanceGetComputeInstanceProfileInfo, instance, profile,
                     nvml::kSharedEngines, &info) != nvml::kSuccess) {
      continue;
    }
    nvml::ComputeInstance found[kBuffer] = {};
    uint32_t count = kBuffer;
    if (driver_.Call(nvml::kGpuInstanceGetComputeInstances, instance, info.id, &found[0], &count) !=
        nvml::kSuccess) {
      continue;
    }
    for (uint32_t i = 0; i < count && i < kBuffer && entry->compute_count < kMaxComputeInstances;
         ++i) {
      nvml::ComputeInstanceInfo made{};
      if (driver_.Call(nvml::kComputeInstanceGetInfo, found[i], &made) == nvml::kSuccess) {
        entry->compute[entry->compute_count++] = {.id = static_cast<uint8_t>(made.id),
                                                  .slices = static_cast<uint8_t>(info.slice_count)};
      }
    }
  }
}

nvml::Return Partitions::AddInstances(nvml::Device device, uint32_t profile_id,
                                      MigInstancesPayload* payload) {
  nvml::GpuInstance found[kBuffer] = {};
  uint32_t count = kBuffer;
  nvml::Return result =
      driver_.Call(nvml::kDeviceGetGpuInstances, device, profile_id, &found[0], &count);
  for (uint32_t i = 0; result == nvml::kSuccess && i < count && i < kBuffer; ++i) {
    nvml::GpuInstanceInfo info{};
    result = driver_.Call(nvml::kGpuInstanceGetInfo, found[i], &info);
    if (result == nvml::kSuccess && payload->count < kMaxGpuInstances) {
      GpuInstanceEntry& entry = payload->instances[payload->count++];
      entry.id = info.id;
      entry.profile_id = info.profile_id;
      entry.start = info.placement.start;
      entry.size = info.placement.size;
      AddComputeInstances(found[i], &entry);
    }
  }
  return result;
}

nvml::Return Partitions::ReadInstances(uint32_t gpu, MigInstancesPayload* payload) {
  nvml::Device device = nullptr;
  nvml::Return result = driver_.Handle(gpu, &device);
  if (result == nvml::kSuccess) {
    result =
        driver_.Call(nvml::kDeviceGetMigMode, device, &payload->is_enabled, &payload->is_pending);
  }
  if (result != nvml::kSuccess || payload->is_enabled == 0) {
    return result;
  }
  for (uint32_t index = 0; index < kMaxMigProfiles; ++index) {
    MigProfileEntry entry{};
    if (!ReadProfile(device, index, &entry)) {
      continue;
    }
    result = AddInstances(device, entry.profile_id, payload);
    if (result != nvml::kSuccess && result != nvml::kErrorNotSupported) {
      return result;
    }
  }
  return nvml::kSuccess;
}

nvml::Return Partitions::SetMode(uint32_t gpu, bool is_enabled, MigModePayload* payload) {
  nvml::Device device = nullptr;
  nvml::Return result = driver_.Handle(gpu, &device);
  auto activation = nvml::kSuccess;
  if (result == nvml::kSuccess) {
    result = driver_.Call(nvml::kDeviceSetMigMode, device, is_enabled ? 1U : 0U, &activation);
  }
  payload->activation = activation;
  if (result == nvml::kSuccess) {
    result =
        driver_.Call(nvml::kDeviceGetMigMode, device, &payload->is_enabled, &payload->is_pending);
  }
  return result;
}

nvml::Return Partitions::CreateGpuInstance(uint32_t gpu, MigPlace place,
                                           GpuInstancePayload* payload) {
  nvml::Device device = nullptr;
  nvml::GpuInstance instance = nullptr;
  nvml::Return result = driver_.Handle(gpu, &device);
  if (result == nvml::kSuccess && place.start == MigPlace::kAnyStart) {
    result = driver_.Call(nvml::kDeviceCreateGpuInstance, device, place.profile_id, &instance);
  } else if (result == nvml::kSuccess) {
    const nvml::Placement placement{.start = place.start, .size = place.size};
    result = driver_.Call(nvml::kDeviceCreateGpuInstanceWithPlacement, device, place.profile_id,
                          &placement, &instance);
  }
  nvml::GpuInstanceInfo info{};
  if (result == nvml::kSuccess) {
    result = driver_.Call(nvml::kGpuInstanceGetInfo, instance, &info);
  }
  payload->id = info.id;
  payload->start = info.placement.start;
  payload->size = info.placement.size;
  return result;
}

nvml::Return Partitions::Instance(uint32_t gpu, uint32_t id, nvml::GpuInstance* instance) {
  nvml::Device device = nullptr;
  const nvml::Return result = driver_.Handle(gpu, &device);
  return result == nvml::kSuccess
             ? driver_.Call(nvml::kDeviceGetGpuInstanceById, device, id, instance)
             : result;
}

nvml::Return Partitions::DestroyGpuInstance(uint32_t gpu, uint32_t id) {
  nvml::GpuInstance instance = nullptr;
  const nvml::Return result = Instance(gpu, id, &instance);
  return result == nvml::kSuccess ? driver_.Call(nvml::kGpuInstanceDestroy, instance) : result;
}

nvml::Return Partitions::CreateComputeInstance(uint32_t gpu, MigPart part,
                                               ComputeInstancePayload* payload) {
  nvml::GpuInstance instance = nullptr;
  nvml::Return result = Instance(gpu, part.gpu_instance, &instance);
  if (result != nvml::kSuccess) {
    return result;
  }
  for (uint32_t profile = 0; profile < nvml::kComputeInstanceProfiles; ++profile) {
    nvml::ComputeInstanceProfileInfo info{};
    result = driver_.Call(nvml::kGpuInstanceGetComputeInstanceProfileInfo, instance, profile,
                          nvml::kSharedEngines, &info);
    if (result != nvml::kSuccess || info.slice_count != part.number) {
      continue;
    }
    nvml::ComputeInstance made = nullptr;
    result = driver_.Call(nvml::kGpuInstanceCreateComputeInstance, instance, info.id, &made);
    nvml::ComputeInstanceInfo made_info{};
    if (result == nvml::kSuccess) {
      result = driver_.Call(nvml::kComputeInstanceGetInfo, made, &made_info);
    }
    payload->id = made_info.id;
    return result;
  }
  return nvml::kErrorNotSupported;
}

nvml::Return Partitions::DestroyComputeInstance(uint32_t gpu, MigPart part) {
  nvml::GpuInstance instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  nvml::Return result = Instance(gpu, part.gpu_instance, &instance);
  if (result == nvml::kSuccess) {
    result =
        driver_.Call(nvml::kGpuInstanceGetComputeInstanceById, instance, part.number, &compute);
  }
  return result == nvml::kSuccess ? driver_.Call(nvml::kComputeInstanceDestroy, compute) : result;
}

}  // namespace kgpu::probe::child
