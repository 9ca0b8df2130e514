// Looking at something every so often, together with all who do.
#pragma once

#include <chrono>

#include "src/platform/base/clock.h"

namespace kgpu {

// Until the next whole multiple of `period` on the clock; `period` is more than 0. Whoever arms a
// timer with it again and again runs at the same moments as all others with that period, and the
// process wakes up once for all of them.
inline std::chrono::nanoseconds UntilNextTick(const Clock& clock, std::chrono::nanoseconds period) {
  return period - clock.Now().time_since_epoch() % period;
}

}  // namespace kgpu
