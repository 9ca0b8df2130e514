// Counters that advance by themselves: energy, traffic, throttling time. A state holds each as of
// `settled_ns`; readers add what follows from the current rates, so they need no writer. Before a
// rate changes, the writer settles. C++ without a library: the simulated driver library shares
// it.
#pragma once

#include <cstdint>

#include "testing/driver/state_gpu.h"

namespace kgpu::sim {

inline constexpr uint64_t kPowerReasons = 0x4 | 0x80;     // power cap, power brake
inline constexpr uint64_t kThermalReasons = 0x20 | 0x40;  // by software, by hardware
inline constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

// Nanoseconds since the counters were settled.
inline uint64_t Unsettled(const SimGpu& gpu, uint64_t now_ns) {
  return gpu.settled_ns != 0 && now_ns > gpu.settled_ns ? now_ns - gpu.settled_ns : 0;
}

// How much `rate` per second adds in this many nanoseconds; nothing if there is no rate.
inline uint64_t Grown(uint32_t rate, uint64_t ns) {
  return rate == kUnsupported ? 0
                              : rate * (ns / kNanosecondsPerSecond) +
                                    rate * (ns % kNanosecondsPerSecond) / kNanosecondsPerSecond;
}

inline uint64_t EnergyMj(const SimGpu& gpu, uint64_t now_ns) {
  return gpu.power.energy_mj == kUnsupported64
             ? kUnsupported64
             : gpu.power.energy_mj + Grown(gpu.power.usage, Unsettled(gpu, now_ns));
}

inline uint64_t PcieTxBytes(const SimGpu& gpu, uint64_t now_ns) {
  return gpu.pcie.tx_bytes + Grown(gpu.pcie.tx_kib_s, Unsettled(gpu, now_ns)) * 1024;
}
inline uint64_t PcieRxBytes(const SimGpu& gpu, uint64_t now_ns) {
  return gpu.pcie.rx_bytes + Grown(gpu.pcie.rx_kib_s, Unsettled(gpu, now_ns)) * 1024;
}

inline uint64_t LinkTxKib(const SimGpu& gpu, const SimNvLink& link, uint64_t now_ns) {
  const uint32_t rate = link.is_active != 0 ? gpu.nvlink_tx_kib_s : 0;
  return link.tx_kib + Grown(rate, Unsettled(gpu, now_ns));
}
inline uint64_t LinkRxKib(const SimGpu& gpu, const SimNvLink& link, uint64_t now_ns) {
  const uint32_t rate = link.is_active != 0 ? gpu.nvlink_rx_kib_s : 0;
  return link.rx_kib + Grown(rate, Unsettled(gpu, now_ns));
}

// By nvmlPerfPolicyType_t: 0 power, 1 heat; the others never happen here.
inline uint64_t ViolationNs(const SimGpu& gpu, int32_t policy, uint64_t now_ns) {
  const uint64_t reasons = gpu.throttle_reasons == kUnsupported64 ? 0 : gpu.throttle_reasons;
  const uint64_t since = Unsettled(gpu, now_ns);
  switch (policy) {
    case 0:
      return gpu.power_violation_ns + ((reasons & kPowerReasons) != 0 ? since : 0);
    case 1:
      return gpu.thermal_violation_ns + ((reasons & kThermalReasons) != 0 ? since : 0);
    default:
      return 0;
  }
}

// Updates the counters to `now_ns`, where they continue from.
inline void Settle(SimGpu& gpu, uint64_t now_ns) {
  const uint64_t energy = EnergyMj(gpu, now_ns);
  const uint64_t sent = PcieTxBytes(gpu, now_ns);
  const uint64_t received = PcieRxBytes(gpu, now_ns);
  const uint64_t power = ViolationNs(gpu, 0, now_ns);
  const uint64_t thermal = ViolationNs(gpu, 1, now_ns);
  for (SimNvLink& link : gpu.nvlinks) {
    link.tx_kib = LinkTxKib(gpu, link, now_ns);
    link.rx_kib = LinkRxKib(gpu, link, now_ns);
  }
  gpu.power.energy_mj = energy;
  gpu.pcie.tx_bytes = sent;
  gpu.pcie.rx_bytes = received;
  gpu.power_violation_ns = power;
  gpu.thermal_violation_ns = thermal;
  gpu.settled_ns = now_ns;
}

// Resets them, as when the driver is loaded.
inline void ForgetCounters(SimGpu& gpu) {
  if (gpu.power.energy_mj != kUnsupported64) {
    gpu.power.energy_mj = 0;
  }
  gpu.pcie.tx_bytes = gpu.pcie.rx_bytes = 0;
  gpu.power_violation_ns = gpu.thermal_violation_ns = 0;
  for (SimNvLink& link : gpu.nvlinks) {
    link.tx_kib = link.rx_kib = 0;
  }
}

}  // namespace kgpu::sim
