// Power, temperature, fans, PCIe link, and the switches of a GPU.
#include "testing/driver/counters.h"
#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/libnvidia_ml/change.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

KGPU_NVML nvmlDeviceGetPowerUsage(Device device, uint32_t* milliwatts) {
  return GetValue("nvmlDeviceGetPowerUsage", device, milliwatts,
                  [](const SimGpu& gpu) { return gpu.power.usage; });
}

KGPU_NVML nvmlDeviceGetPowerManagementLimit(Device device, uint32_t* milliwatts) {
  return GetValue("nvmlDeviceGetPowerManagementLimit", device, milliwatts,
                  [](const SimGpu& gpu) { return gpu.power.limit; });
}

KGPU_NVML nvmlDeviceGetEnforcedPowerLimit(Device device, uint32_t* milliwatts) {
  return GetValue("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts,
                  [](const SimGpu& gpu) { return gpu.power.limit; });
}

KGPU_NVML nvmlDeviceGetPowerManagementDefaultLimit(Device device, uint32_t* milliwatts) {
  return GetValue("nvmlDeviceGetPowerManagementDefaultLimit", device, milliwatts,
                  [](const SimGpu& gpu) { return gpu.power.default_limit; });
}

KGPU_NVML nvmlDeviceGetPowerManagementLimitConstraints(Device device, uint32_t* minimum,
                                                       uint32_t* maximum) {
  return GpuCall("nvmlDeviceGetPowerManagementLimitConstraints", device,
                 minimum != nullptr && maximum != nullptr, [&](const SimGpu& gpu) {
                   Return result = Put(gpu.power.minimum_limit, minimum);
                   return result != kSuccess ? result : Put(gpu.power.maximum_limit, maximum);
                 });
}

KGPU_NVML nvmlDeviceGetPowerManagementMode(Device device, nvml::EnableState* mode) {
  return GetSwitch("nvmlDeviceGetPowerManagementMode", device, mode,
                   [](const SimGpu& gpu) { return gpu.power.is_management_capable; });
}

KGPU_NVML nvmlDeviceGetTotalEnergyConsumption(Device device, uint64_t* millijoules) {
  return GetValue("nvmlDeviceGetTotalEnergyConsumption", device, millijoules,
                  [](const SimGpu& gpu) { return EnergyMj(gpu, NowBootNs()); });
}

KGPU_NVML nvmlDeviceGetPowerSource(Device device, uint32_t* source) {
  return GetValue("nvmlDeviceGetPowerSource", device, source, [](const SimGpu&) { return 0U; });
}

KGPU_NVML nvmlDeviceGetTemperature(Device device, int32_t sensor, uint32_t* celsius) {
  return GpuCall("nvmlDeviceGetTemperature", device, celsius != nullptr && sensor == 0,
                 [&](const SimGpu& gpu) { return Put(gpu.temperature.gpu, celsius); });
}

// Only in libraries newer than 535; older clients never look for it.
KGPU_NVML nvmlDeviceGetTemperatureV(Device device, nvml::TemperatureV1* temperature) {
  return GpuCall("nvmlDeviceGetTemperature", device, temperature != nullptr,
                 [&](const SimGpu& gpu) {
                   if (temperature->version != nvml::StructVersion<nvml::TemperatureV1>(1)) {
                     return nvml::kErrorArgumentVersionMismatch;
                   }
                   if (temperature->sensor != 0) {
                     return kErrorInvalidArgument;
                   }
                   temperature->celsius = static_cast<int32_t>(gpu.temperature.gpu);
                   return gpu.temperature.gpu == kUnsupported ? kErrorNotSupported : kSuccess;
                 });
}

// T.Limit 0 is where the GPU may run below its base clock. Of newer libraries than 535.
KGPU_NVML nvmlDeviceGetMarginTemperature(Device device, nvml::MarginTemperatureV1* margin) {
  return GpuCall(
      "nvmlDeviceGetMarginTemperature", device, margin != nullptr, [&](const SimGpu& gpu) {
        if (margin->version != nvml::StructVersion<nvml::MarginTemperatureV1>(1)) {
          return nvml::kErrorArgumentVersionMismatch;
        }
        const SimTemperature& heat = gpu.temperature;
        if (!ReportsTLimits(gpu) || heat.gpu == kUnsupported) {
          return kErrorNotSupported;
        }
        margin->celsius = static_cast<int32_t>(heat.gpu_max) - static_cast<int32_t>(heat.gpu);
        return kSuccess;
      });
}

KGPU_NVML nvmlDeviceGetTemperatureThreshold(Device device, int32_t threshold, uint32_t* celsius) {
  return GpuCall("nvmlDeviceGetTemperatureThreshold", device,
                 celsius != nullptr && threshold >= 0 && threshold < 8, [&](const SimGpu& gpu) {
                   if (gpu.temperature.has_no_thresholds != 0) {
                     return kErrorNotSupported;
                   }
                   switch (threshold) {
                     case nvml::kThresholdShutdown:
                       return Put(gpu.temperature.shutdown, celsius);
                     case nvml::kThresholdSlowdown:
                       return Put(gpu.temperature.slowdown, celsius);
                     case nvml::kThresholdMemoryMax:
                       return Put(gpu.temperature.memory_max, celsius);
                     case nvml::kThresholdGpuMax:
                       return Put(gpu.temperature.gpu_max, celsius);
                     default:
                       return kErrorNotSupported;
                   }
                 });
}

KGPU_NVML nvmlDeviceGetThermalSettings(Device device, uint32_t, nvml::ThermalSettings* settings) {
  return GpuCall(
      "nvmlDeviceGetThermalSettings", device, settings != nullptr, [&](const SimGpu& gpu) {
        *settings = {};
        settings->count = 1;
        settings->sensor[0] = {.controller = 1,  // inside the GPU
                               .default_min = 0,
                               .default_max = static_cast<int32_t>(gpu.temperature.shutdown),
                               .current = static_cast<int32_t>(gpu.temperature.gpu),
                               .target = static_cast<int32_t>(nvml::kThermalTargetGpu)};
        return kSuccess;
      });
}

KGPU_NVML nvmlDeviceGetFanSpeed(Device device, uint32_t* percent) {
  return GetValue("nvmlDeviceGetFanSpeed", device, percent, [](const SimGpu& gpu) {
    return gpu.fan_count == 0 ? kUnsupported : gpu.fan_percent;
  });
}

namespace {

Return GetFan(const char* name, Device device, uint32_t fan, uint32_t* percent) {
  return GpuCall(name, device, percent != nullptr, [&](const SimGpu& gpu) {
    if (gpu.fan_count == 0) {
      return kErrorNotSupported;
    }
    return fan < gpu.fan_count ? Put(gpu.fan_percent, percent) : kErrorInvalidArgument;
  });
}

}  // namespace

KGPU_NVML nvmlDeviceGetFanSpeed_v2(Device device, uint32_t fan, uint32_t* percent) {
  return GetFan("nvmlDeviceGetFanSpeed", device, fan, percent);
}

KGPU_NVML nvmlDeviceGetTargetFanSpeed(Device device, uint32_t fan, uint32_t* percent) {
  return GetFan("nvmlDeviceGetTargetFanSpeed", device, fan, percent);
}

KGPU_NVML nvmlDeviceGetNumFans(Device device, uint32_t* count) {
  return GetValue("nvmlDeviceGetNumFans", device, count,
                  [](const SimGpu& gpu) { return gpu.fan_count; });
}

KGPU_NVML nvmlDeviceGetMinMaxFanSpeed(Device device, uint32_t* minimum, uint32_t* maximum) {
  return GpuCall("nvmlDeviceGetMinMaxFanSpeed", device, minimum != nullptr && maximum != nullptr,
                 [&](const SimGpu& gpu) {
                   *minimum = 30;
                   *maximum = 100;
                   return gpu.fan_count == 0 ? kErrorNotSupported : kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetCurrPcieLinkGeneration(Device device, uint32_t* generation) {
  return GetValue("nvmlDeviceGetCurrPcieLinkGeneration", device, generation,
                  [](const SimGpu& gpu) { return gpu.pcie.generation; });
}

KGPU_NVML nvmlDeviceGetMaxPcieLinkGeneration(Device device, uint32_t* generation) {
  return GetValue("nvmlDeviceGetMaxPcieLinkGeneration", device, generation,
                  [](const SimGpu& gpu) { return gpu.pcie.generation_max; });
}

KGPU_NVML nvmlDeviceGetGpuMaxPcieLinkGeneration(Device device, uint32_t* generation) {
  return GetValue("nvmlDeviceGetGpuMaxPcieLinkGeneration", device, generation,
                  [](const SimGpu& gpu) { return gpu.pcie.generation_gpu_max; });
}

KGPU_NVML nvmlDeviceGetCurrPcieLinkWidth(Device device, uint32_t* width) {
  return GetValue("nvmlDeviceGetCurrPcieLinkWidth", device, width,
                  [](const SimGpu& gpu) { return gpu.pcie.width; });
}

KGPU_NVML nvmlDeviceGetMaxPcieLinkWidth(Device device, uint32_t* width) {
  return GetValue("nvmlDeviceGetMaxPcieLinkWidth", device, width,
                  [](const SimGpu& gpu) { return gpu.pcie.width_max; });
}

KGPU_NVML nvmlDeviceGetPcieReplayCounter(Device device, uint32_t* count) {
  return GetValue("nvmlDeviceGetPcieReplayCounter", device, count,
                  [](const SimGpu& gpu) { return gpu.pcie.replay_counter; });
}

KGPU_NVML nvmlDeviceGetPcieThroughput(Device device, int32_t counter, uint32_t* kib_s) {
  bool is_known = counter == nvml::kPcieTxBytes || counter == nvml::kPcieRxBytes;
  return GpuCall(
      "nvmlDeviceGetPcieThroughput", device, kib_s != nullptr && is_known, [&](const SimGpu& gpu) {
        return Put(counter == nvml::kPcieTxBytes ? gpu.pcie.tx_kib_s : gpu.pcie.rx_kib_s, kib_s);
      });
}

namespace {

uint32_t LaneMbps(uint32_t generation) {
  return generation == 0 || generation > 6 ? kUnsupported : 2500U << (generation - 1);
}

}  // namespace

// Megatransfers a second of one lane; 8000 for generation 3, not 10000.
KGPU_NVML nvmlDeviceGetPcieSpeed(Device device, uint32_t* mbps) {
  return GetValue("nvmlDeviceGetPcieSpeed", device, mbps, [](const SimGpu& gpu) {
    uint32_t generation = gpu.pcie.generation;
    return generation < 3 ? LaneMbps(generation) : LaneMbps(generation) / 10 * 8;
  });
}

// NVML_PCIE_LINK_MAX_SPEED_* numbers the speeds like the generations.
KGPU_NVML nvmlDeviceGetPcieLinkMaxSpeed(Device device, uint32_t* speed) {
  return GetValue("nvmlDeviceGetPcieLinkMaxSpeed", device, speed,
                  [](const SimGpu& gpu) { return gpu.pcie.generation_max; });
}

KGPU_NVML nvmlDeviceGetPersistenceMode(Device device, nvml::EnableState* mode) {
  return GetSwitch("nvmlDeviceGetPersistenceMode", device, mode,
                   [](const SimGpu& gpu) { return gpu.persistence_mode; });
}

KGPU_NVML nvmlDeviceGetDisplayMode(Device device, nvml::EnableState* mode) {
  return GetSwitch("nvmlDeviceGetDisplayMode", device, mode,
                   [](const SimGpu& gpu) { return gpu.display_mode; });
}

KGPU_NVML nvmlDeviceGetDisplayActive(Device device, nvml::EnableState* is_active) {
  return GetSwitch("nvmlDeviceGetDisplayActive", device, is_active,
                   [](const SimGpu& gpu) { return gpu.display_active; });
}

KGPU_NVML nvmlDeviceGetAccountingMode(Device device, nvml::EnableState* mode) {
  return GetSwitch("nvmlDeviceGetAccountingMode", device, mode,
                   [](const SimGpu& gpu) { return gpu.accounting_mode; });
}

KGPU_NVML nvmlDeviceGetAccountingBufferSize(Device device, uint32_t* size) {
  return GetValue("nvmlDeviceGetAccountingBufferSize", device, size,
                  [](const SimGpu&) { return 4000U; });
}

KGPU_NVML nvmlDeviceGetAccountingPids(Device device, uint32_t* count, uint32_t*) {
  return GpuCall("nvmlDeviceGetAccountingPids", device, count != nullptr, [&](const SimGpu&) {
    *count = 0;
    return kSuccess;
  });
}

KGPU_NVML nvmlDeviceGetComputeMode(Device device, uint32_t* mode) {
  return GetValue("nvmlDeviceGetComputeMode", device, mode,
                  [](const SimGpu& gpu) { return gpu.compute_mode; });
}

KGPU_NVML nvmlDeviceGetVirtualizationMode(Device device, uint32_t* mode) {
  return GetValue("nvmlDeviceGetVirtualizationMode", device, mode,
                  [](const SimGpu& gpu) { return gpu.virtualization; });
}

KGPU_NVML nvmlDeviceGetAPIRestriction(Device device, int32_t api,
                                      nvml::EnableState* is_restricted) {
  return GpuCall("nvmlDeviceGetAPIRestriction", device,
                 is_restricted != nullptr && (api == 0 || api == 1), [&](const SimGpu&) {
                   *is_restricted = nvml::kFeatureEnabled;
                   return api == 0 ? kSuccess : kErrorNotSupported;
                 });
}

KGPU_NVML nvmlDeviceGetBridgeChipInfo(Device device, nvml::BridgeChipHierarchy* chips) {
  return GpuCall("nvmlDeviceGetBridgeChipInfo", device, chips != nullptr, [&](const SimGpu&) {
    chips->count = 0;
    return kErrorNotSupported;
  });
}

// The InfoROM is always sound.
KGPU_NVML nvmlDeviceValidateInforom(Device device) {
  return GpuCall("nvmlDeviceValidateInforom", device, true, [](const SimGpu&) { return kSuccess; });
}

// Setters. The server knows the fields by the names in fields.h.
namespace {

Return SetSwitch(const char* name, Device device, const char* field, uint32_t value) {
  char arguments[64];
  (void)snprintf(arguments, sizeof(arguments), "%s %u", field, value);
  return ChangeGpu(name, device, "set", arguments);
}

}  // namespace

KGPU_NVML nvmlDeviceSetPersistenceMode(Device device, int32_t mode) {
  return SetSwitch("nvmlDeviceSetPersistenceMode", device, "persistence-mode", mode != 0 ? 1 : 0);
}

KGPU_NVML nvmlDeviceSetComputeMode(Device device, uint32_t mode) {
  return SetSwitch("nvmlDeviceSetComputeMode", device, "compute-mode", mode);
}

KGPU_NVML nvmlDeviceSetPowerManagementLimit(Device device, uint32_t milliwatts) {
  Return checked =
      GpuCall("nvmlDeviceSetPowerManagementLimit", device, true, [&](const SimGpu& gpu) {
        bool is_within =
            milliwatts >= gpu.power.minimum_limit && milliwatts <= gpu.power.maximum_limit;
        return is_within ? kSuccess : kErrorInvalidArgument;
      });
  if (checked != kSuccess) {
    return checked;
  }
  return SetSwitch("nvmlDeviceSetPowerManagementLimit", device, "power-limit", milliwatts);
}

KGPU_NVML nvmlDeviceSetPowerManagementLimit_v2(Device device, const nvml::PowerValueV2* value) {
  if (value == nullptr) {
    return GpuCall("nvmlDeviceSetPowerManagementLimit", device, false,
                   [](const SimGpu&) { return kSuccess; });
  }
  if (value->version != nvml::StructVersion<nvml::PowerValueV2>(2)) {
    return nvml::kErrorArgumentVersionMismatch;
  }
  return value->scope == 0 ? nvmlDeviceSetPowerManagementLimit(device, value->milliwatts)
                           : kErrorNotSupported;
}

KGPU_NVML nvmlDeviceSetAccountingMode(Device device, int32_t mode) {
  return SetSwitch("nvmlDeviceSetAccountingMode", device, "accounting-mode", mode != 0 ? 1 : 0);
}

// Takes effect at the next reset, as on real boards.
KGPU_NVML nvmlDeviceSetEccMode(Device device, int32_t mode) {
  return SetSwitch("nvmlDeviceSetEccMode", device, "ecc-pending-mode", mode != 0 ? 1 : 0);
}

}  // namespace kgpu::sim
