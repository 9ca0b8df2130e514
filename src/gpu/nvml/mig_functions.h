// The NVML functions that change MIG, as functions.h lists the others.
#pragma once

#include "src/gpu/nvml/functions.h"
#include "src/gpu/nvml/mig_abi.h"

namespace kgpu::nvml {

inline constexpr Function<DeviceSetMigModeFn> kDeviceSetMigMode{"nvmlDeviceSetMigMode", nullptr};
inline constexpr Function<DeviceGetGpuInstanceProfileInfoFn> kDeviceGetGpuInstanceProfileInfo{
    "nvmlDeviceGetGpuInstanceProfileInfo", nullptr};
inline constexpr Function<DeviceGetGpuInstanceProfileInfoVFn> kDeviceGetGpuInstanceProfileInfoV{
    "nvmlDeviceGetGpuInstanceProfileInfoV", nullptr};
inline constexpr Function<DeviceGetGpuInstancePossiblePlacementsFn>
    kDeviceGetGpuInstancePossiblePlacements{"nvmlDeviceGetGpuInstancePossiblePlacements_v2",
                                            "nvmlDeviceGetGpuInstancePossiblePlacements"};
inline constexpr Function<DeviceGetGpuInstancesFn> kDeviceGetGpuInstances{
    "nvmlDeviceGetGpuInstances", nullptr};
inline constexpr Function<DeviceCreateGpuInstanceFn> kDeviceCreateGpuInstance{
    "nvmlDeviceCreateGpuInstance", nullptr};
inline constexpr Function<DeviceCreateGpuInstanceWithPlacementFn>
    kDeviceCreateGpuInstanceWithPlacement{"nvmlDeviceCreateGpuInstanceWithPlacement", nullptr};
inline constexpr Function<GpuInstanceDestroyFn> kGpuInstanceDestroy{"nvmlGpuInstanceDestroy",
                                                                    nullptr};
inline constexpr Function<GpuInstanceGetComputeInstanceProfileInfoFn>
    kGpuInstanceGetComputeInstanceProfileInfo{"nvmlGpuInstanceGetComputeInstanceProfileInfo",
                                              nullptr};
inline constexpr Function<GpuInstanceCreateComputeInstanceFn> kGpuInstanceCreateComputeInstance{
    "nvmlGpuInstanceCreateComputeInstance", nullptr};
inline constexpr Function<GpuInstanceGetComputeInstancesFn> kGpuInstanceGetComputeInstances{
    "nvmlGpuInstanceGetComputeInstances", nullptr};
inline constexpr Function<GpuInstanceGetComputeInstanceByIdFn> kGpuInstanceGetComputeInstanceById{
    "nvmlGpuInstanceGetComputeInstanceById", nullptr};
inline constexpr Function<ComputeInstanceGetInfoFn> kComputeInstanceGetInfo{
    "nvmlComputeInstanceGetInfo_v2", "nvmlComputeInstanceGetInfo"};
inline constexpr Function<ComputeInstanceDestroyFn> kComputeInstanceDestroy{
    "nvmlComputeInstanceDestroy", nullptr};

}  // namespace kgpu::nvml
