// Symbol names of the functions of sample_abi.h, like functions.h for the others.
#pragma once

#include "src/gpu/nvml/functions.h"
#include "src/gpu/nvml/sample_abi.h"

namespace kgpu::nvml {

inline constexpr Function<DeviceGetUtilizationFn> kDeviceGetUtilizationRates{
    "nvmlDeviceGetUtilizationRates", nullptr};
inline constexpr Function<DeviceGetEngineUtilizationFn> kDeviceGetEncoderUtilization{
    "nvmlDeviceGetEncoderUtilization", nullptr};
inline constexpr Function<DeviceGetEngineUtilizationFn> kDeviceGetDecoderUtilization{
    "nvmlDeviceGetDecoderUtilization", nullptr};
inline constexpr Function<DeviceGetEngineUtilizationFn> kDeviceGetJpgUtilization{
    "nvmlDeviceGetJpgUtilization", nullptr};
inline constexpr Function<DeviceGetEngineUtilizationFn> kDeviceGetOfaUtilization{
    "nvmlDeviceGetOfaUtilization", nullptr};
inline constexpr Function<DeviceGetSamplesFn> kDeviceGetSamples{"nvmlDeviceGetSamples", nullptr};

inline constexpr Function<DeviceGetBar1MemoryFn> kDeviceGetBar1MemoryInfo{
    "nvmlDeviceGetBAR1MemoryInfo", nullptr};

inline constexpr Function<DeviceGetTemperatureFn> kDeviceGetTemperature{"nvmlDeviceGetTemperature",
                                                                        nullptr};
// Replaces the function above.
inline constexpr Function<DeviceGetTemperatureVFn> kDeviceGetTemperatureV{
    "nvmlDeviceGetTemperatureV", nullptr};
inline constexpr Function<DeviceGetTypedUintFn> kDeviceGetTemperatureThreshold{
    "nvmlDeviceGetTemperatureThreshold", nullptr};
// Together with the T.Limit fields, this replaces thresholds.
inline constexpr Function<DeviceGetMarginTemperatureFn> kDeviceGetMarginTemperature{
    "nvmlDeviceGetMarginTemperature", nullptr};

inline constexpr Function<DeviceGetUintFn> kDeviceGetPowerUsage{"nvmlDeviceGetPowerUsage", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetEnforcedPowerLimit{
    "nvmlDeviceGetEnforcedPowerLimit", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetPerformanceState{
    "nvmlDeviceGetPerformanceState", nullptr};
inline constexpr Function<DeviceGetTypedUintFn> kDeviceGetClockInfo{"nvmlDeviceGetClockInfo",
                                                                    nullptr};
inline constexpr Function<DeviceGetTypedUintFn> kDeviceGetMaxClockInfo{"nvmlDeviceGetMaxClockInfo",
                                                                       nullptr};
inline constexpr Function<DeviceGetUlongFn> kDeviceGetCurrentClocksEventReasons{
    "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"};
inline constexpr Function<DeviceGetViolationFn> kDeviceGetViolationStatus{
    "nvmlDeviceGetViolationStatus", nullptr};

inline constexpr Function<DeviceGetUintFn> kDeviceGetNumFans{"nvmlDeviceGetNumFans", nullptr};
inline constexpr Function<DeviceGetIndexedUintFn> kDeviceGetFanSpeedV2{"nvmlDeviceGetFanSpeed_v2",
                                                                       nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetFanSpeed{"nvmlDeviceGetFanSpeed", nullptr};

inline constexpr Function<DeviceGetUintFn> kDeviceGetCurrPcieLinkGeneration{
    "nvmlDeviceGetCurrPcieLinkGeneration", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetMaxPcieLinkGeneration{
    "nvmlDeviceGetMaxPcieLinkGeneration", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetCurrPcieLinkWidth{
    "nvmlDeviceGetCurrPcieLinkWidth", nullptr};
inline constexpr Function<DeviceGetUintFn> kDeviceGetMaxPcieLinkWidth{
    "nvmlDeviceGetMaxPcieLinkWidth", nullptr};
inline constexpr Function<DeviceGetTypedUintFn> kDeviceGetPcieThroughput{
    "nvmlDeviceGetPcieThroughput", nullptr};

inline constexpr Function<DeviceGetHistogramFn> kDeviceGetRowRemapperHistogram{
    "nvmlDeviceGetRowRemapperHistogram", nullptr};
inline constexpr Function<DeviceGetFabricInfoVFn> kDeviceGetGpuFabricInfoV{
    "nvmlDeviceGetGpuFabricInfoV", nullptr};
inline constexpr Function<DeviceGetSramEccStatusFn> kDeviceGetSramEccErrorStatus{
    "nvmlDeviceGetSramEccErrorStatus", nullptr};
inline constexpr Function<DeviceGetFieldValuesFn> kDeviceGetFieldValues{"nvmlDeviceGetFieldValues",
                                                                        nullptr};
inline constexpr Function<DeviceGetNvLinkErrorFn> kDeviceGetNvLinkErrorCounter{
    "nvmlDeviceGetNvLinkErrorCounter", nullptr};

inline constexpr Function<DeviceGetProcessesFn> kDeviceGetComputeProcesses{
    "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"};
inline constexpr Function<DeviceGetProcessesV1Fn> kDeviceGetComputeProcessesV1{
    "nvmlDeviceGetComputeRunningProcesses", nullptr};
inline constexpr Function<DeviceGetProcessesFn> kDeviceGetGraphicsProcesses{
    "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"};
inline constexpr Function<DeviceGetProcessesV1Fn> kDeviceGetGraphicsProcessesV1{
    "nvmlDeviceGetGraphicsRunningProcesses", nullptr};
inline constexpr Function<DeviceGetProcessesFn> kDeviceGetMpsProcesses{
    "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"};
inline constexpr Function<DeviceGetProcessesV1Fn> kDeviceGetMpsProcessesV1{
    "nvmlDeviceGetMPSComputeRunningProcesses", nullptr};
inline constexpr Function<DeviceGetProcessUtilizationFn> kDeviceGetProcessUtilization{
    "nvmlDeviceGetProcessUtilization", nullptr};

inline constexpr Function<GpmQueryDeviceSupportFn> kGpmQueryDeviceSupport{
    "nvmlGpmQueryDeviceSupport", nullptr};
inline constexpr Function<GpmSampleAllocFn> kGpmSampleAlloc{"nvmlGpmSampleAlloc", nullptr};
inline constexpr Function<GpmSampleFreeFn> kGpmSampleFree{"nvmlGpmSampleFree", nullptr};
inline constexpr Function<GpmSampleGetFn> kGpmSampleGet{"nvmlGpmSampleGet", nullptr};
inline constexpr Function<GpmMigSampleGetFn> kGpmMigSampleGet{"nvmlGpmMigSampleGet", nullptr};
inline constexpr Function<GpmMetricsGetFn> kGpmMetricsGet{"nvmlGpmMetricsGet", nullptr};

}  // namespace kgpu::nvml
