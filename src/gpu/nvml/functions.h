// The NVML functions that the probe calls, with the symbol names that libraries may have for them:
// one table. Drivers differ: if a symbol is missing, its older form is tried; if a function is
// missing altogether, calls return kErrorFunctionNotFound (src/gpu/nvml/library.h).
#pragma once

#include "src/gpu/nvml/abi.h"

namespace kgpu::nvml {

// One function: its type, its newest symbol, and an older symbol of the same type or null.
template <typename Fn>
struct Function {
  const char* name;
  const char* older_name;
};

inline constexpr Function<InitFn> kInit{"nvmlInit_v2", "nvmlInit"};
inline constexpr Function<InitWithFlagsFn> kInitWithFlags{"nvmlInitWithFlags", nullptr};
inline constexpr Function<ShutdownFn> kShutdown{"nvmlShutdown", nullptr};
inline constexpr Function<SystemGetDriverVersionFn> kSystemGetDriverVersion{
    "nvmlSystemGetDriverVersion", nullptr};
inline constexpr Function<SystemGetNvmlVersionFn> kSystemGetNvmlVersion{"nvmlSystemGetNVMLVersion",
                                                                        nullptr};
inline constexpr Function<SystemGetCudaDriverVersionFn> kSystemGetCudaDriverVersion{
    "nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"};

inline constexpr Function<DeviceGetCountFn> kDeviceGetCount{"nvmlDeviceGetCount_v2",
                                                            "nvmlDeviceGetCount"};
inline constexpr Function<DeviceGetHandleByIndexFn> kDeviceGetHandleByIndex{
    "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"};

inline constexpr Function<DeviceGetTextFn> kDeviceGetUuid{"nvmlDeviceGetUUID", nullptr};
inline constexpr Function<DeviceGetTextFn> kDeviceGetName{"nvmlDeviceGetName", nullptr};
inline constexpr Function<DeviceGetTextFn> kDeviceGetSerial{"nvmlDeviceGetSerial", nullptr};
inline constexpr Function<DeviceGetTextFn> kDeviceGetVbiosVersion{"nvmlDeviceGetVbiosVersion",
                                                                  nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetMinorNumber{"nvmlDeviceGetMinorNumber",
                                                                 nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetArchitecture{"nvmlDeviceGetArchitecture",
                                                                  nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetNumaNodeId{"nvmlDeviceGetNumaNodeId", nullptr};
inline constexpr Function<DeviceGetBrandFn> kDeviceGetBrand{"nvmlDeviceGetBrand", nullptr};
inline constexpr Function<DeviceGetCudaComputeCapabilityFn> kDeviceGetCudaComputeCapability{
    "nvmlDeviceGetCudaComputeCapability", nullptr};
inline constexpr Function<DeviceGetEccModeFn> kDeviceGetEccMode{"nvmlDeviceGetEccMode", nullptr};

// The newest form has a different type: the caller falls back by calling the second one.
inline constexpr Function<DeviceGetPciInfoFn> kDeviceGetPciInfo{"nvmlDeviceGetPciInfo_v3", nullptr};
inline constexpr Function<DeviceGetPciInfoV2Fn> kDeviceGetPciInfoV2{"nvmlDeviceGetPciInfo_v2",
                                                                    "nvmlDeviceGetPciInfo"};
inline constexpr Function<DeviceGetMemoryInfoV2Fn> kDeviceGetMemoryInfoV2{
    "nvmlDeviceGetMemoryInfo_v2", nullptr};
inline constexpr Function<DeviceGetMemoryInfoFn> kDeviceGetMemoryInfo{"nvmlDeviceGetMemoryInfo",
                                                                      nullptr};

inline constexpr Function<DeviceGetFabricInfoFn> kDeviceGetGpuFabricInfo{
    "nvmlDeviceGetGpuFabricInfo", nullptr};

inline constexpr Function<DeviceGetMigModeFn> kDeviceGetMigMode{"nvmlDeviceGetMigMode", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetMaxMigDeviceCount{
    "nvmlDeviceGetMaxMigDeviceCount", nullptr};
inline constexpr Function<DeviceGetMigDeviceHandleByIndexFn> kDeviceGetMigDeviceHandleByIndex{
    "nvmlDeviceGetMigDeviceHandleByIndex", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetGpuInstanceId{"nvmlDeviceGetGpuInstanceId",
                                                                   nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetComputeInstanceId{
    "nvmlDeviceGetComputeInstanceId", nullptr};
inline constexpr Function<DeviceGetAttributesFn> kDeviceGetAttributes{"nvmlDeviceGetAttributes_v2",
                                                                      "nvmlDeviceGetAttributes"};
inline constexpr Function<DeviceGetGpuInstanceByIdFn> kDeviceGetGpuInstanceById{
    "nvmlDeviceGetGpuInstanceById", nullptr};
inline constexpr Function<GpuInstanceGetInfoFn> kGpuInstanceGetInfo{"nvmlGpuInstanceGetInfo",
                                                                    nullptr};

inline constexpr Function<DeviceGetNvLinkStateFn> kDeviceGetNvLinkState{"nvmlDeviceGetNvLinkState",
                                                                        nullptr};
inline constexpr Function<DeviceGetNvLinkVersionFn> kDeviceGetNvLinkVersion{
    "nvmlDeviceGetNvLinkVersion", nullptr};
inline constexpr Function<DeviceGetNvLinkRemotePciInfoFn> kDeviceGetNvLinkRemotePciInfo{
    "nvmlDeviceGetNvLinkRemotePciInfo_v2", nullptr};
inline constexpr Function<DeviceGetNvLinkRemotePciInfoV1Fn> kDeviceGetNvLinkRemotePciInfoV1{
    "nvmlDeviceGetNvLinkRemotePciInfo", nullptr};
inline constexpr Function<DeviceGetNvLinkRemoteDeviceTypeFn> kDeviceGetNvLinkRemoteDeviceType{
    "nvmlDeviceGetNvLinkRemoteDeviceType", nullptr};
inline constexpr Function<DeviceGetTopologyCommonAncestorFn> kDeviceGetTopologyCommonAncestor{
    "nvmlDeviceGetTopologyCommonAncestor", nullptr};

inline constexpr Function<EventSetCreateFn> kEventSetCreate{"nvmlEventSetCreate", nullptr};
inline constexpr Function<EventSetWaitFn> kEventSetWait{"nvmlEventSetWait_v2", "nvmlEventSetWait"};
inline constexpr Function<DeviceRegisterEventsFn> kDeviceRegisterEvents{"nvmlDeviceRegisterEvents",
                                                                        nullptr};
inline constexpr Function<DeviceGetSupportedEventTypesFn> kDeviceGetSupportedEventTypes{
    "nvmlDeviceGetSupportedEventTypes", nullptr};

}  // namespace kgpu::nvml
