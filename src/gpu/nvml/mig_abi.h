// The part of NVML's binary interface that changes MIG: modes, profiles, GPU instances and compute
// instances. Same rules as abi.h. Source: NVML API reference, "Multi Instance GPU Management".
#pragma once

#include "src/gpu/nvml/sample_abi.h"

namespace kgpu::nvml {

using ComputeInstance = struct nvmlComputeInstance_st*;

inline constexpr uint32_t kGpuInstanceProfiles = 18;     // NVML_GPU_INSTANCE_PROFILE_COUNT
inline constexpr uint32_t kComputeInstanceProfiles = 9;  // NVML_COMPUTE_INSTANCE_PROFILE_COUNT
inline constexpr uint32_t kSharedEngines = 0;  // NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED

struct GpuInstanceProfileInfo {  // nvmlGpuInstanceProfileInfo_t
  uint32_t id;
  uint32_t is_p2p_supported;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
};
static_assert(sizeof(GpuInstanceProfileInfo) == 48);

struct GpuInstanceProfileInfoV2 {
  uint32_t version;
  uint32_t id;
  uint32_t is_p2p_supported;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
  char name[kNameV2Size];
};
static_assert(StructVersion<GpuInstanceProfileInfoV2>(2) == 0x02000098);

struct GpuInstanceProfileInfoV3 {
  uint32_t version;
  uint32_t id;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t copy_engine_count;
  uint32_t decoder_count;
  uint32_t encoder_count;
  uint32_t jpeg_count;
  uint32_t ofa_count;
  uint64_t memory_size_mb;
  char name[kNameV2Size];
  uint32_t capabilities;
};
static_assert(StructVersion<GpuInstanceProfileInfoV3>(3) == 0x03000098);

struct ComputeInstanceProfileInfo {
  uint32_t id;
  uint32_t slice_count;
  uint32_t instance_count;
  uint32_t multiprocessor_count;
  uint32_t shared_copy_engine_count;
  uint32_t shared_decoder_count;
  uint32_t shared_encoder_count;
  uint32_t shared_jpeg_count;
  uint32_t shared_ofa_count;
};
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);

struct ComputeInstanceProfileInfoV2 {
  uint32_t version;
  ComputeInstanceProfileInfo info;
  char name[kNameV2Size];
};
static_assert(StructVersion<ComputeInstanceProfileInfoV2>(2) == 0x02000088);

struct ComputeInstanceProfileInfoV3 {
  uint32_t version;
  ComputeInstanceProfileInfo info;
  char name[kNameV2Size];
  uint32_t capabilities;
};
static_assert(StructVersion<ComputeInstanceProfileInfoV3>(3) == 0x0300008c);

struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  uint32_t id;
  uint32_t profile_id;
  Placement placement;  // compute slices
};
static_assert(sizeof(ComputeInstanceInfo) == 2 * sizeof(void*) + 16);

// Function types. Of those with a V, the older form has the structure without version and name.
using DeviceSetMigModeFn = Return(Device, uint32_t mode, Return* activation);
using DeviceGetGpuInstanceProfileInfoFn = Return(Device, uint32_t profile, GpuInstanceProfileInfo*);
using DeviceGetGpuInstanceProfileInfoVFn = Return(Device, uint32_t profile,
                                                  GpuInstanceProfileInfoV2*);
using DeviceGetGpuInstancePossiblePlacementsFn = Return(Device, uint32_t profile_id, Placement*,
                                                        uint32_t* count);
using DeviceGetGpuInstancesFn = Return(Device, uint32_t profile_id, GpuInstance*, uint32_t* count);
using DeviceCreateGpuInstanceFn = Return(Device, uint32_t profile_id, GpuInstance*);
using DeviceCreateGpuInstanceWithPlacementFn = Return(Device, uint32_t profile_id, const Placement*,
                                                      GpuInstance*);
using GpuInstanceDestroyFn = Return(GpuInstance);
using GpuInstanceGetComputeInstanceProfileInfoFn = Return(GpuInstance, uint32_t profile,
                                                          uint32_t engine_profile,
                                                          ComputeInstanceProfileInfo*);
using GpuInstanceCreateComputeInstanceFn = Return(GpuInstance, uint32_t profile_id,
                                                  ComputeInstance*);
using GpuInstanceGetComputeInstancesFn = Return(GpuInstance, uint32_t profile_id, ComputeInstance*,
                                                uint32_t* count);
using GpuInstanceGetComputeInstanceByIdFn = Return(GpuInstance, uint32_t id, ComputeInstance*);
using ComputeInstanceGetInfoFn = Return(ComputeInstance, ComputeInstanceInfo*);  // _v2, v1
using ComputeInstanceDestroyFn = Return(ComputeInstance);

}  // namespace kgpu::nvml
