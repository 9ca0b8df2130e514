// Real descriptors on a loop of simulated time.
#pragma once

#include <chrono>
#include <functional>

#include "testing/fake_loop.h"

namespace kgpu::kube {

// Runs `loop` until `is_done`; false when nothing happens any more for a long time. Simulated time
// stands still: what waits for a timer is not waited for.
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

}  // namespace kgpu::kube
