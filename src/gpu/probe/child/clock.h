// Time in the probe.
#pragma once

#include <cstdint>
#include <ctime>

namespace kgpu::probe::child {

inline uint64_t MicrosecondsOf(clockid_t clock) {
  timespec now{};
  (void)clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace kgpu::probe::child
