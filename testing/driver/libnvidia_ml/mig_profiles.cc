#include "testing/driver/libnvidia_ml/mig_profiles.h"

#include <cstdio>
#include <cstring>

#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

using nvml::kErrorArgumentVersionMismatch;
using nvml::kErrorInvalidArgument;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

constexpr uint32_t kProfileCount = 0x12;  // NVML_GPU_INSTANCE_PROFILE_COUNT
constexpr uint32_t kComputeProfileCount = 9;

template <typename Matches>
const SimMigProfile* FindProfile(const SimGpu& gpu, Matches&& matches) {
  for (uint32_t i = 0; i < gpu.mig.profile_count && i < kMaxMigProfiles; ++i) {
    if (matches(gpu.mig.profiles[i])) {
      return &gpu.mig.profiles[i];
    }
  }
  return nullptr;
}

}  // namespace

const SimMigProfile* ProfileByIndex(const SimGpu& gpu, uint32_t index) {
  return FindProfile(gpu, [&](const SimMigProfile& profile) { return profile.index == index; });
}

const SimMigProfile* ProfileById(const SimGpu& gpu, uint32_t id) {
  return FindProfile(gpu, [&](const SimMigProfile& profile) { return profile.id == id; });
}

const SimMigProfile* ProfileOfInstance(const SimGpu& gpu, uint32_t gpu_instance) {
  const SimGpuInstance* instance = FindGpuInstance(gpu, gpu_instance);
  return instance != nullptr ? ProfileById(gpu, instance->profile_id) : nullptr;
}

uint32_t ComputeSlices(uint32_t profile) {
  constexpr uint32_t kSlices[kComputeProfileCount] = {1, 2, 3, 4, 7, 8, 6, 1, 7};
  return profile < kComputeProfileCount ? kSlices[profile] : 0;
}

void MigName(const SimMigProfile& profile, uint32_t compute_slices, char* text, size_t size) {
  int length = static_cast<int>(strnlen(profile.name, sizeof(profile.name)));
  if (compute_slices == profile.compute_slices) {
    (void)snprintf(text, size, "%.*s", length, profile.name);
  } else {
    (void)snprintf(text, size, "%uc.%.*s", compute_slices, length, profile.name);
  }
}

namespace {

// The fields that all versions of nvmlGpuInstanceProfileInfo_t share.
template <typename Info>
void FillCommon(const SimMigProfile& profile, Info& info) {
  info.id = profile.id;
  info.slice_count = profile.compute_slices;
  info.instance_count = profile.max_instances;
  info.multiprocessor_count = profile.multiprocessors;
  info.copy_engine_count = profile.copy_engines;
  info.decoder_count = profile.decoders;
  info.encoder_count = profile.encoders;
  info.jpeg_count = profile.jpeg_engines;
  info.ofa_count = profile.ofa_engines;
  info.memory_size_mb = profile.memory_mib;
}

void FillName(const SimMigProfile& profile, uint32_t compute_slices, char (&name)[96]) {
  char bare[64];
  MigName(profile, compute_slices, bare, sizeof(bare));
  (void)snprintf(name, sizeof(name), "MIG %s", bare);
}

template <typename Fill>
Return ProfileCall(const char* name, Device device, uint32_t index, bool has_info, Fill&& fill) {
  return GpuCall(name, device, has_info && index < kProfileCount, [&](const SimGpu& gpu) {
    const SimMigProfile* profile = gpu.mig.is_capable != 0 ? ProfileByIndex(gpu, index) : nullptr;
    return profile != nullptr ? fill(*profile) : kErrorNotSupported;
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetGpuInstanceProfileInfo(Device device, uint32_t index,
                                              nvml::GpuInstanceProfileInfo* info) {
  return ProfileCall("nvmlDeviceGetGpuInstanceProfileInfo", device, index, info != nullptr,
                     [&](const SimMigProfile& profile) {
                       *info = {};
                       FillCommon(profile, *info);
                       return kSuccess;
                     });
}

KGPU_NVML nvmlDeviceGetGpuInstanceProfileInfoV(Device device, uint32_t index,
                                               nvml::GpuInstanceProfileInfoV2* info) {
  return ProfileCall(
      "nvmlDeviceGetGpuInstanceProfileInfo", device, index, info != nullptr,
      [&](const SimMigProfile& profile) {
        if (info->version == nvml::StructVersion<nvml::GpuInstanceProfileInfoV2>(2)) {
          FillCommon(profile, *info);
          info->is_p2p_supported = 0;
          FillName(profile, profile.compute_slices, info->name);
          return kSuccess;
        }
        if (info->version == nvml::StructVersion<nvml::GpuInstanceProfileInfoV3>(3)) {
          auto* newer = reinterpret_cast<nvml::GpuInstanceProfileInfoV3*>(info);
          FillCommon(profile, *newer);
          FillName(profile, profile.compute_slices, newer->name);
          newer->capabilities = 0;
          return kSuccess;
        }
        return kErrorArgumentVersionMismatch;
      });
}

namespace {

// A compute instance profile within a GPU instance, which shares the engines of its parent.
struct ComputeProfile {
  const SimMigProfile* parent;
  nvml::ComputeInstanceProfileInfo info;
};

bool DescribeComputeProfile(const SimMigProfile& parent, uint32_t profile, ComputeProfile& out) {
  uint32_t slices = ComputeSlices(profile);
  bool is_revision = profile >= 7;
  if (slices == 0 || slices > parent.compute_slices || parent.compute_slices == 0 || is_revision) {
    return false;
  }
  out.parent = &parent;
  out.info = {.id = profile,
              .slice_count = slices,
              .instance_count = parent.compute_slices / slices,
              .multiprocessor_count = parent.multiprocessors * slices / parent.compute_slices,
              .shared_copy_engine_count = parent.copy_engines,
              .shared_decoder_count = parent.decoders,
              .shared_encoder_count = parent.encoders,
              .shared_jpeg_count = parent.jpeg_engines,
              .shared_ofa_count = parent.ofa_engines};
  return true;
}

template <typename Fill>
Return ComputeProfileCall(nvml::GpuInstance instance, uint32_t profile, uint32_t engine_profile,
                          bool has_info, Fill&& fill) {
  InstanceTarget target;
  if (!has_info || !Decode(instance, target) || profile >= kComputeProfileCount ||
      engine_profile != 0) {
    return SystemCall("nvmlGpuInstanceGetComputeInstanceProfileInfo", false,
                      [](const Session&, const SimState&) { return kSuccess; });
  }
  return SlotCall("nvmlGpuInstanceGetComputeInstanceProfileInfo", target.slot,
                  [&](const Session&, const SimState& state) {
                    const SimMigProfile* parent =
                        ProfileOfInstance(state.gpus[target.slot], target.gpu_instance);
                    if (parent == nullptr) {
                      return kErrorInvalidArgument;
                    }
                    ComputeProfile found{};
                    return DescribeComputeProfile(*parent, profile, found) ? fill(found)
                                                                           : kErrorNotSupported;
                  });
}

}  // namespace

KGPU_NVML nvmlGpuInstanceGetComputeInstanceProfileInfo(nvml::GpuInstance instance, uint32_t profile,
                                                       uint32_t engine_profile,
                                                       nvml::ComputeInstanceProfileInfo* info) {
  return ComputeProfileCall(instance, profile, engine_profile, info != nullptr,
                            [&](const ComputeProfile& found) {
                              *info = found.info;
                              return kSuccess;
                            });
}

KGPU_NVML nvmlGpuInstanceGetComputeInstanceProfileInfoV(nvml::GpuInstance instance,
                                                        uint32_t profile, uint32_t engine_profile,
                                                        nvml::ComputeInstanceProfileInfoV2* info) {
  return ComputeProfileCall(
      instance, profile, engine_profile, info != nullptr, [&](const ComputeProfile& found) {
        bool is_v2 = info->version == nvml::StructVersion<nvml::ComputeInstanceProfileInfoV2>(2);
        bool is_v3 = info->version == nvml::StructVersion<nvml::ComputeInstanceProfileInfoV3>(3);
        if (!is_v2 && !is_v3) {
          return kErrorArgumentVersionMismatch;
        }
        info->info = found.info;
        FillName(*found.parent, found.info.slice_count, info->name);
        if (is_v3) {
          reinterpret_cast<nvml::ComputeInstanceProfileInfoV3*>(info)->capabilities = 0;
        }
        return kSuccess;
      });
}

}  // namespace kgpu::sim
