// Why clocks are held down: the bits of nvmlDeviceGetCurrentClocksEventReasons (before driver 535
// …ThrottleReasons). Source: NVML API reference, nvmlClocksEventReasons.
#pragma once

#include <cstdint>

namespace kgpu::nvml {

inline constexpr uint64_t kThrottleIdle = 0x1;         // nothing runs: no fault
inline constexpr uint64_t kThrottleApplication = 0x2;  // set clocks of applications
inline constexpr uint64_t kThrottlePowerCap = 0x4;     // the power limit, by software
inline constexpr uint64_t kThrottleHwSlowdown = 0x8;   // hardware: heat, power brake, or too much
inline constexpr uint64_t kThrottleSyncBoost = 0x10;   // the slowest of a group
inline constexpr uint64_t kThrottleSwThermal = 0x20;   // heat, by software
inline constexpr uint64_t kThrottleHwThermal = 0x40;   // heat, by hardware
inline constexpr uint64_t kThrottlePowerBrake = 0x80;  // the board's power supply asked for it
inline constexpr uint64_t kThrottleDisplayClock = 0x100;  // a display's clocks

}  // namespace kgpu::nvml
