// Which driver call returns which value of a GPU: one table per kind of call.
#pragma once

#include "src/gpu/nvml/sample_functions.h"
#include "src/gpu/probe/sample_protocol.h"

namespace kgpu::probe::child {

struct WantedField {
  uint32_t id;
  SampleField field;
};
inline constexpr WantedField kFields[] = {
    {nvml::kFieldEccSbeVolatileTotal, SampleField::kEccVolatileCorrected},
    {nvml::kFieldEccDbeVolatileTotal, SampleField::kEccVolatileUncorrected},
    {nvml::kFieldEccSbeAggregateTotal, SampleField::kEccAggregateCorrected},
    {nvml::kFieldEccDbeAggregateTotal, SampleField::kEccAggregateUncorrected},
    {nvml::kFieldRetiredSbe, SampleField::kRetiredSingleBit},
    {nvml::kFieldRetiredDbe, SampleField::kRetiredDoubleBit},
    {nvml::kFieldRetiredPending, SampleField::kRetiredPending},
    {nvml::kFieldMemoryTemperature, SampleField::kMemoryTemperature},
    {nvml::kFieldEnergy, SampleField::kEnergy},
    {nvml::kFieldPcieReplay, SampleField::kPcieReplays},
    {nvml::kFieldRemappedCorrected, SampleField::kRemapsCorrected},
    {nvml::kFieldRemappedUncorrected, SampleField::kRemapsUncorrected},
    {nvml::kFieldRemapPending, SampleField::kRemapPending},
    {nvml::kFieldRemapFailed, SampleField::kRemapFailed},
    {nvml::kFieldRecoveryAction, SampleField::kRecoveryAction},
    // These are counters; rates are computed from them.
    {nvml::kFieldPcieTxBytes, SampleField::kPcieSent},
    {nvml::kFieldPcieRxBytes, SampleField::kPcieReceived},
};
inline constexpr uint32_t kFieldCount = sizeof(kFields) / sizeof(kFields[0]);

struct WantedUint {
  const nvml::Function<nvml::DeviceGetUintFn>* function;
  SampleField field;
};
inline constexpr WantedUint kUints[] = {
    {&nvml::kDeviceGetPowerUsage, SampleField::kPower},
    {&nvml::kDeviceGetEnforcedPowerLimit, SampleField::kPowerLimit},
    {&nvml::kDeviceGetPerformanceState, SampleField::kPerformanceState},
    {&nvml::kDeviceGetCurrPcieLinkGeneration, SampleField::kPcieGeneration},
    {&nvml::kDeviceGetCurrPcieLinkWidth, SampleField::kPcieWidth},
};
inline constexpr WantedUint kConstantUints[] = {
    {&nvml::kDeviceGetMaxPcieLinkGeneration, SampleField::kPcieMaxGeneration},
    {&nvml::kDeviceGetMaxPcieLinkWidth, SampleField::kPcieMaxWidth},
};

struct WantedType {
  const nvml::Function<nvml::DeviceGetTypedUintFn>* function;
  int32_t type;
  SampleField field;
};
inline constexpr WantedType kTyped[] = {
    {&nvml::kDeviceGetClockInfo, nvml::kClockGraphics, SampleField::kClockGraphics},
    {&nvml::kDeviceGetClockInfo, nvml::kClockSm, SampleField::kClockSm},
    {&nvml::kDeviceGetClockInfo, nvml::kClockMemory, SampleField::kClockMemory},
    {&nvml::kDeviceGetClockInfo, nvml::kClockVideo, SampleField::kClockVideo},
};
inline constexpr WantedType kConstantTyped[] = {
    {&nvml::kDeviceGetMaxClockInfo, nvml::kClockSm, SampleField::kMaxClockSm},
    {&nvml::kDeviceGetMaxClockInfo, nvml::kClockMemory, SampleField::kMaxClockMemory},
    {&nvml::kDeviceGetTemperatureThreshold, nvml::kThresholdSlowdown,
     SampleField::kTemperatureSlowdown},
    {&nvml::kDeviceGetTemperatureThreshold, nvml::kThresholdShutdown,
     SampleField::kTemperatureShutdown},
    {&nvml::kDeviceGetTemperatureThreshold, nvml::kThresholdGpuMax,
     SampleField::kTemperatureGpuMax},
    {&nvml::kDeviceGetTemperatureThreshold, nvml::kThresholdMemoryMax,
     SampleField::kTemperatureMemoryMax},
};

// Replaces thresholds from Ada on. The memory's is left out: the scale of its degrees is not
// documented.
inline constexpr WantedField kTLimits[] = {
    {nvml::kFieldSlowdownTLimit, SampleField::kTemperatureSlowdown},
    {nvml::kFieldShutdownTLimit, SampleField::kTemperatureShutdown},
    {nvml::kFieldGpuMaxTLimit, SampleField::kTemperatureGpuMax},
};
inline constexpr uint32_t kTLimitCount = sizeof(kTLimits) / sizeof(kTLimits[0]);

struct WantedEngine {
  const nvml::Function<nvml::DeviceGetEngineUtilizationFn>* function;
  SampleField field;
};
inline constexpr WantedEngine kEngines[] = {
    {&nvml::kDeviceGetEncoderUtilization, SampleField::kEncoderUtilization},
    {&nvml::kDeviceGetDecoderUtilization, SampleField::kDecoderUtilization},
    {&nvml::kDeviceGetJpgUtilization, SampleField::kJpegUtilization},
    {&nvml::kDeviceGetOfaUtilization, SampleField::kOfaUtilization},
};

}  // namespace kgpu::probe::child
