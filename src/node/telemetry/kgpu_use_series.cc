// kgpu_gpu_*: how much a GPU does, and what that costs it.
#include <array>

#include "src/gpu/nvml/throttle.h"
#include "src/node/telemetry/follow.h"
#include "src/node/telemetry/series_tables.h"

namespace kgpu::telemetry {
namespace {

using device::Clocks;
using device::GpuSample;
using device::MemoryUse;
using device::Power;
using device::Temperatures;
using device::Utilization;
using enum metrics::Type;

constexpr double kPercent = 100;
constexpr double kMega = 1e6;

void CollectClocks(const GpuView& view, Values& out) {
  const Clocks& clocks = view.sample->clocks;
  out.PutTimes({{"clock", "graphics"}}, clocks.graphics, kMega);
  out.PutTimes({{"clock", "sm"}}, clocks.sm, kMega);
  out.PutTimes({{"clock", "memory"}}, clocks.memory, kMega);
  out.PutTimes({{"clock", "video"}}, clocks.video, kMega);
}

void CollectClockLimits(const GpuView& view, Values& out) {
  out.PutTimes({{"clock", "sm"}}, view.sample->clocks.max_sm, kMega);
  out.PutTimes({{"clock", "memory"}}, view.sample->clocks.max_memory, kMega);
}

void CollectHeatLimits(const GpuView& view, Values& out) {
  const Temperatures& limits = view.sample->temperatures;
  out.Put({{"limit", "slowdown"}}, limits.slowdown);
  out.Put({{"limit", "shutdown"}}, limits.shutdown);
  out.Put({{"limit", "gpu_max"}}, limits.gpu_max);
  out.Put({{"limit", "memory_max"}}, limits.memory_max);
}

void CollectFans(const GpuView& view, Values& out) {
  for (size_t fan = 0; fan < view.sample->fans.size(); ++fan) {
    out.Put({{"fan", fmt::format("{}", fan)}}, view.sample->fans[fan] / kPercent);
  }
}

void CollectSlowdownTime(const GpuView& view, Values& out) {
  constexpr double kNano = 1e9;
  out.Put({{"cause", "power"}}, view.sample->power_violation_ns, kNano);
  out.Put({{"cause", "thermal"}}, view.sample->thermal_violation_ns, kNano);
}

struct Reason {
  uint64_t bit = 0;
  std::string_view name;
};
constexpr std::array kReasons = {Reason{nvml::kThrottleIdle, "idle"},
                                 Reason{nvml::kThrottleApplication, "application_clocks"},
                                 Reason{nvml::kThrottlePowerCap, "power_cap"},
                                 Reason{nvml::kThrottleHwSlowdown, "hardware"},
                                 Reason{nvml::kThrottleSyncBoost, "sync_boost"},
                                 Reason{nvml::kThrottleSwThermal, "software_thermal"},
                                 Reason{nvml::kThrottleHwThermal, "thermal"},
                                 Reason{nvml::kThrottlePowerBrake, "power_brake"},
                                 Reason{nvml::kThrottleDisplayClock, "display_clock"}};

void CollectReasons(const GpuView& view, Values& out) {
  const auto& reasons = view.sample->throttle_reasons;
  if (!reasons) {
    return;
  }
  for (const Reason& reason : kReasons) {
    out.Put({{"reason", reason.name}}, (*reasons & reason.bit) != 0 ? 1 : 0);
  }
}

template <auto field>
constexpr Collectors kShare{.gpu = &Divided<kPercent, &GpuSample::utilization, field>};
template <auto field>
constexpr Collectors kMemory{.gpu = &Plain<&GpuSample::memory, field>};

constexpr std::array kUse = {
    Series{"kgpu_gpu_utilization_ratio", kGauge,
           "Share of time during which a kernel ran, over the driver's last period of 1/6 to 1 s. "
           "nvmlDeviceGetUtilizationRates.",
           "ratio", "", kShare<&Utilization::gpu>},
    Series{"kgpu_gpu_duty_cycle_ratio", kGauge,
           "Mean of the driver's utilization samples over the last 10 s. nvmlDeviceGetSamples.",
           "ratio", "", kShare<&Utilization::duty_cycle>},
    Series{"kgpu_gpu_memory_utilization_ratio", kGauge,
           "Share of time during which device memory was read or written. "
           "nvmlDeviceGetUtilizationRates.",
           "ratio", "", kShare<&Utilization::memory>},
    Series{"kgpu_gpu_encoder_utilization_ratio", kGauge,
           "Share of time during which the video encoder ran. nvmlDeviceGetEncoderUtilization.",
           "ratio", "", kShare<&Utilization::encoder>},
    Series{"kgpu_gpu_decoder_utilization_ratio", kGauge,
           "Share of time during which the video decoder ran. nvmlDeviceGetDecoderUtilization.",
           "ratio", "", kShare<&Utilization::decoder>},
    Series{"kgpu_gpu_jpeg_utilization_ratio", kGauge,
           "Share of time during which the JPEG engine ran. nvmlDeviceGetJpgUtilization.", "ratio",
           "", kShare<&Utilization::jpeg>},
    Series{"kgpu_gpu_ofa_utilization_ratio", kGauge,
           "Share of time during which the optical flow engine ran. nvmlDeviceGetOfaUtilization.",
           "ratio", "", kShare<&Utilization::ofa>},
    Series{"kgpu_gpu_memory_total_bytes", kGauge,
           "Total device memory. nvmlDeviceGetMemoryInfo_v2.", "bytes", "",
           kMemory<&MemoryUse::total>},
    Series{"kgpu_gpu_memory_used_bytes", kGauge,
           "Device memory used by programs. nvmlDeviceGetMemoryInfo_v2.", "bytes", "",
           kMemory<&MemoryUse::used>},
    Series{"kgpu_gpu_memory_free_bytes", kGauge,
           "Device memory available to programs. nvmlDeviceGetMemoryInfo_v2.", "bytes", "",
           kMemory<&MemoryUse::free>},
    Series{"kgpu_gpu_memory_reserved_bytes", kGauge,
           "Device memory reserved by driver and firmware. nvmlDeviceGetMemoryInfo_v2.", "bytes",
           "", kMemory<&MemoryUse::reserved>},
    Series{"kgpu_gpu_bar1_total_bytes", kGauge,
           "Size of the BAR1 window, through which the host accesses device memory. "
           "nvmlDeviceGetBAR1MemoryInfo.",
           "bytes", "", Only(&Plain<&GpuSample::bar1_total>)},
    Series{"kgpu_gpu_bar1_used_bytes", kGauge,
           "Used part of the BAR1 window. nvmlDeviceGetBAR1MemoryInfo.", "bytes", "",
           Only(&Plain<&GpuSample::bar1_used>)},
    Series{"kgpu_gpu_temperature_celsius", kGauge,
           "GPU core temperature. nvmlDeviceGetTemperature.", "celsius", "",
           Only(&Plain<&GpuSample::temperatures, &Temperatures::gpu>)},
    Series{"kgpu_gpu_memory_temperature_celsius", kGauge,
           "Device memory temperature. NVML_FI_DEV_MEMORY_TEMP.", "celsius", "",
           Only(&Plain<&GpuSample::temperatures, &Temperatures::memory>)},
    Series{
        "kgpu_gpu_temperature_limit_celsius", kGauge,
        "Temperature at which the GPU slows down or shuts down. nvmlDeviceGetTemperatureThreshold; "
        "else current temperature and margin and NVML_FI_DEV_TEMPERATURE_*_TLIMIT.",
        "celsius", "limit", Only(&CollectHeatLimits)},
    Series{"kgpu_gpu_fan_speed_ratio", kGauge,
           "Fan speed relative to its maximum. nvmlDeviceGetFanSpeed_v2.", "ratio", "fan",
           Only(&CollectFans)},
    Series{"kgpu_gpu_power_watts", kGauge, "Power draw. nvmlDeviceGetPowerUsage.", "watts", "",
           Only(&Plain<&GpuSample::power, &Power::watts>)},
    Series{"kgpu_gpu_power_limit_watts", kGauge,
           "Enforced power limit. nvmlDeviceGetEnforcedPowerLimit.", "watts", "",
           Only(&Plain<&GpuSample::power, &Power::limit_watts>)},
    Series{"kgpu_gpu_energy_joules_total", kCounter,
           "Energy used since the driver was loaded. nvmlDeviceGetTotalEnergyConsumption.",
           "joules", "", Only(&Divided<1000.0, &GpuSample::power, &Power::energy_millijoules>)},
    Series{"kgpu_gpu_clock_hertz", kGauge, "Current clocks. nvmlDeviceGetClockInfo.", "hertz",
           "clock", Only(&CollectClocks)},
    Series{"kgpu_gpu_clock_limit_hertz", kGauge, "Maximum clocks. nvmlDeviceGetMaxClockInfo.",
           "hertz", "clock", Only(&CollectClockLimits)},
    Series{"kgpu_gpu_throttled", kGauge,
           "Whether clocks are reduced for this reason. nvmlDeviceGetCurrentClocksEventReasons.",
           "", "reason", Only(&CollectReasons)},
    Series{"kgpu_gpu_throttled_seconds_total", kCounter,
           "Time during which clocks were reduced. nvmlDeviceGetViolationStatus.", "seconds",
           "cause", Only(&CollectSlowdownTime)},
    Series{"kgpu_gpu_performance_state", kGauge,
           "P-state: 0 is the fastest, 15 the slowest. nvmlDeviceGetPerformanceState.", "", "",
           Only(&Plain<&GpuSample::performance_state>)},
};

}  // namespace

std::span<const Series> KgpuUseSeries() {
  return kUse;
}

}  // namespace kgpu::telemetry
