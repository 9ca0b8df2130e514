// Periodic work that shares its wake-ups with all other work of the same period.
#pragma once

#include <chrono>

#include "src/platform/base/clock.h"

namespace kgpu {

// The time until the next whole multiple of `period` on the clock; `period` must be more than 0.
// Timers that are armed with it fire at the same moments as all others of that period, so the
// process wakes up once for all of them.
inline std::chrono::nanoseconds UntilNextTick(const Clock& clock, std::chrono::nanoseconds period) {
  return period - clock.Now().time_since_epoch() % period;
}

}  // namespace kgpu
