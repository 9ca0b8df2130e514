// Real descriptors on a loop with simulated time.
#pragma once

#include <chrono>
#include <functional>

#include "testing/fake_loop.h"

namespace kgpu {

// Runs `loop` until `is_done`; false if nothing happens for a long time. Simulated time stands
// still: it does not wait for timers.
inline bool RunUntil(FakeLoop& loop, const std::function<bool()>& is_done) {
  constexpr std::chrono::seconds kLong{20};
  for (;;) {
    loop.Advance(std::chrono::milliseconds(0));
    if (is_done()) {
      return true;
    }
    if (!loop.WaitForDescriptor(kLong)) {
      return is_done();
    }
  }
}

}  // namespace kgpu
