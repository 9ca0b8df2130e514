// Reasons for reduced clocks: the bits of nvmlDeviceGetCurrentClocksEventReasons (before driver
// 535: …ThrottleReasons). Source: NVML API reference, nvmlClocksEventReasons.
#pragma once

#include <cstdint>

namespace kgpu::nvml {

inline constexpr uint64_t kThrottleIdle = 0x1;            // idle: no fault
inline constexpr uint64_t kThrottleApplication = 0x2;     // application clocks are set
inline constexpr uint64_t kThrottlePowerCap = 0x4;        // power limit, by software
inline constexpr uint64_t kThrottleHwSlowdown = 0x8;      // hardware: heat, power brake or overload
inline constexpr uint64_t kThrottleSyncBoost = 0x10;      // follows the slowest GPU of a group
inline constexpr uint64_t kThrottleSwThermal = 0x20;      // heat, by software
inline constexpr uint64_t kThrottleHwThermal = 0x40;      // heat, by hardware
inline constexpr uint64_t kThrottlePowerBrake = 0x80;     // requested by the board's power supply
inline constexpr uint64_t kThrottleDisplayClock = 0x100;  // limited by a display

}  // namespace kgpu::nvml
