// Clocks, performance states and what holds them down.
#include <functional>

#include "testing/driver/counters.h"
#include "testing/driver/libnvidia_ml/call.h"

namespace kgpu::sim {

using nvml::kErrorInvalidArgument;
using nvml::kErrorNotFound;
using nvml::kErrorNotSupported;
using nvml::kSuccess;

namespace {

template <typename Get>
Return GetClock(const char* name, Device device, int32_t type, uint32_t* mhz, Get&& get) {
  bool is_known = type >= 0 && type < static_cast<int32_t>(nvml::kClockTypes);
  return GpuCall(name, device, mhz != nullptr && is_known,
                 [&](const SimGpu& gpu) { return Put(std::invoke(get, gpu.clocks)[type], mhz); });
}

}  // namespace

KGPU_NVML nvmlDeviceGetClockInfo(Device device, int32_t type, uint32_t* mhz) {
  return GetClock("nvmlDeviceGetClockInfo", device, type, mhz, &SimClocks::current);
}

KGPU_NVML nvmlDeviceGetMaxClockInfo(Device device, int32_t type, uint32_t* mhz) {
  return GetClock("nvmlDeviceGetMaxClockInfo", device, type, mhz, &SimClocks::maximum);
}

KGPU_NVML nvmlDeviceGetApplicationsClock(Device device, int32_t type, uint32_t* mhz) {
  return GetClock("nvmlDeviceGetApplicationsClock", device, type, mhz, &SimClocks::application);
}

KGPU_NVML nvmlDeviceGetDefaultApplicationsClock(Device device, int32_t type, uint32_t* mhz) {
  return GetClock("nvmlDeviceGetDefaultApplicationsClock", device, type, mhz,
                  &SimClocks::default_application);
}

KGPU_NVML nvmlDeviceGetMaxCustomerBoostClock(Device device, int32_t type, uint32_t* mhz) {
  return GetClock("nvmlDeviceGetMaxCustomerBoostClock", device, type, mhz, &SimClocks::maximum);
}

KGPU_NVML nvmlDeviceGetClock(Device device, int32_t type, int32_t id, uint32_t* mhz) {
  auto choose = [id](const SimClocks& clocks) -> const uint32_t(&)[4] {
    switch (id) {
      case nvml::kClockIdApplication:
        return clocks.application;
      case nvml::kClockIdApplicationDefault:
        return clocks.default_application;
      case nvml::kClockIdCustomerBoostMax:
        return clocks.maximum;
      default:
        return clocks.current;
    }
  };
  bool is_known = id >= nvml::kClockIdCurrent && id <= nvml::kClockIdCustomerBoostMax;
  return GetClock("nvmlDeviceGetClock", device, is_known ? type : -1, mhz, choose);
}

KGPU_NVML nvmlDeviceGetSupportedMemoryClocks(Device device, uint32_t* count, uint32_t* mhz) {
  if (count == nullptr) {
    return GpuCall("nvmlDeviceGetSupportedMemoryClocks", device, false,
                   [](const SimGpu&) { return kSuccess; });
  }
  ListWriter writer(count, mhz != nullptr);
  return GpuCall("nvmlDeviceGetSupportedMemoryClocks", device, true, [&](const SimGpu& gpu) {
    writer.Clear();
    for (uint32_t clock : gpu.clocks.supported_memory) {
      if (clock == kUnsupported) {
        return kErrorNotSupported;
      }
      if (clock == 0) {
        break;
      }
      if (int64_t at = writer.Next(); at >= 0) {
        mhz[at] = clock;
      }
    }
    return writer.Finish();
  });
}

namespace {

constexpr uint32_t kMaxClockSteps = 512;

bool IsMemoryClock(const SimClocks& clocks, uint32_t mhz) {
  for (uint32_t clock : clocks.supported_memory) {
    if (clock != 0 && clock == mhz) {
      return true;
    }
  }
  return false;
}

}  // namespace

KGPU_NVML nvmlDeviceGetSupportedGraphicsClocks(Device device, uint32_t memory_mhz, uint32_t* count,
                                               uint32_t* mhz) {
  if (count == nullptr) {
    return GpuCall("nvmlDeviceGetSupportedGraphicsClocks", device, false,
                   [](const SimGpu&) { return kSuccess; });
  }
  ListWriter writer(count, mhz != nullptr);
  return GpuCall("nvmlDeviceGetSupportedGraphicsClocks", device, true, [&](const SimGpu& gpu) {
    writer.Clear();
    const SimClocks& clocks = gpu.clocks;
    if (clocks.supported_graphics_min == kUnsupported || clocks.supported_graphics_step == 0) {
      return kErrorNotSupported;
    }
    if (!IsMemoryClock(clocks, memory_mhz)) {
      return kErrorNotFound;
    }
    uint32_t clock = clocks.maximum[nvml::kClockGraphics];
    for (uint32_t i = 0; i < kMaxClockSteps && clock >= clocks.supported_graphics_min; ++i) {
      if (int64_t at = writer.Next(); at >= 0) {
        mhz[at] = clock;
      }
      if (clock < clocks.supported_graphics_step) {
        break;
      }
      clock -= clocks.supported_graphics_step;
    }
    return writer.Finish();
  });
}

KGPU_NVML nvmlDeviceGetPerformanceState(Device device, uint32_t* state) {
  return GetValue("nvmlDeviceGetPerformanceState", device, state,
                  [](const SimGpu& gpu) { return gpu.performance_state; });
}

KGPU_NVML nvmlDeviceGetPowerState(Device device, uint32_t* state) {
  return GetValue("nvmlDeviceGetPowerState", device, state,
                  [](const SimGpu& gpu) { return gpu.performance_state; });
}

// P0 only, as on data-centre boards.
KGPU_NVML nvmlDeviceGetSupportedPerformanceStates(Device device, int32_t* states, uint32_t size) {
  return GpuCall("nvmlDeviceGetSupportedPerformanceStates", device, states != nullptr,
                 [&](const SimGpu&) {
                   if (size < sizeof(*states)) {
                     return nvml::kErrorInsufficientSize;
                   }
                   for (uint32_t i = 0; i < size / sizeof(*states); ++i) {
                     states[i] = i == 0 ? 0 : nvml::kPstateUnknown;
                   }
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetMinMaxClockOfPState(Device device, int32_t type, int32_t pstate,
                                           uint32_t* minimum, uint32_t* maximum) {
  bool is_known = type >= 0 && type < static_cast<int32_t>(nvml::kClockTypes) && pstate == 0;
  return GpuCall("nvmlDeviceGetMinMaxClockOfPState", device,
                 is_known && minimum != nullptr && maximum != nullptr, [&](const SimGpu& gpu) {
                   *minimum = gpu.clocks.supported_graphics_min;
                   return Put(gpu.clocks.maximum[type], maximum);
                 });
}

KGPU_NVML nvmlDeviceGetCurrentClocksThrottleReasons(Device device, uint64_t* reasons) {
  return GetValue("nvmlDeviceGetCurrentClocksThrottleReasons", device, reasons,
                  [](const SimGpu& gpu) { return gpu.throttle_reasons; });
}

KGPU_NVML nvmlDeviceGetCurrentClocksEventReasons(Device device, uint64_t* reasons) {
  return GetValue("nvmlDeviceGetCurrentClocksEventReasons", device, reasons,
                  [](const SimGpu& gpu) { return gpu.throttle_reasons; });
}

KGPU_NVML nvmlDeviceGetSupportedClocksThrottleReasons(Device device, uint64_t* reasons) {
  return GetValue("nvmlDeviceGetSupportedClocksThrottleReasons", device, reasons,
                  [](const SimGpu& gpu) { return gpu.supported_throttle_reasons; });
}

KGPU_NVML nvmlDeviceGetSupportedClocksEventReasons(Device device, uint64_t* reasons) {
  return GetValue("nvmlDeviceGetSupportedClocksEventReasons", device, reasons,
                  [](const SimGpu& gpu) { return gpu.supported_throttle_reasons; });
}

// Policies besides power and heat never hold the clocks down.
KGPU_NVML nvmlDeviceGetViolationStatus(Device device, int32_t policy, nvml::ViolationTime* time) {
  return GpuCall("nvmlDeviceGetViolationStatus", device, time != nullptr && policy >= 0,
                 [&](const SimGpu& gpu) {
                   if (gpu.throttle_reasons == kUnsupported64) {
                     return kErrorNotSupported;
                   }
                   *time = {.reference_ns = NowUs() * 1000,
                            .violation_ns = ViolationNs(gpu, policy, NowBootNs())};
                   return kSuccess;
                 });
}

KGPU_NVML nvmlDeviceGetAdaptiveClockInfoStatus(Device device, uint32_t* status) {
  return GpuCall("nvmlDeviceGetAdaptiveClockInfoStatus", device, status != nullptr,
                 [&](const SimGpu&) {
                   *status = 1;
                   return kSuccess;
                 });
}

namespace {

uint32_t SampleOf(const SimGpu& gpu, int32_t type) {
  switch (type) {
    case nvml::kSamplePower:
      return gpu.power.usage;
    case nvml::kSampleGpu:
      return gpu.utilization.gpu;
    case nvml::kSampleMemory:
      return gpu.utilization.memory;
    case nvml::kSampleEncoder:
      return gpu.utilization.encoder;
    case nvml::kSampleDecoder:
      return gpu.utilization.decoder;
    case nvml::kSampleSmClock:
      return gpu.clocks.current[nvml::kClockSm];
    case nvml::kSampleMemoryClock:
      return gpu.clocks.current[nvml::kClockMemory];
    default:
      return kUnsupported;
  }
}

}  // namespace

// The buffer of samples holds one: now.
KGPU_NVML nvmlDeviceGetSamples(Device device, int32_t type, uint64_t last_seen_us,
                               int32_t* value_type, uint32_t* count, nvml::Sample* samples) {
  return GpuCall("nvmlDeviceGetSamples", device, value_type != nullptr && count != nullptr,
                 [&](const SimGpu& gpu) {
                   uint32_t value = SampleOf(gpu, type);
                   uint64_t now = NowUs();
                   if (value == kUnsupported) {
                     return kErrorNotSupported;
                   }
                   if (now <= last_seen_us) {
                     return kErrorNotFound;
                   }
                   if (samples != nullptr && *count == 0) {
                     return kErrorInvalidArgument;
                   }
                   *value_type = nvml::kValueUint;
                   *count = 1;
                   if (samples != nullptr) {
                     samples[0] = {.timestamp_us = now, .value = {.uint = value}};
                   }
                   return kSuccess;
                 });
}

}  // namespace kgpu::sim
