// A clock that stands still until the test moves it. One thread moves it; any thread may read it.
#pragma once

#include <atomic>

#include "src/platform/base/clock.h"

namespace kgpu {

class FakeClock final : public Clock {
 public:
  SteadyTime Now() const override { return steady_.load(); }
  WallTime WallNow() const override { return wall_.load(); }
  void Advance(std::chrono::nanoseconds by) {
    steady_ = steady_.load() + by;
    wall_ = wall_.load() + std::chrono::duration_cast<WallTime::duration>(by);
  }

 private:
  std::atomic<SteadyTime> steady_{SteadyTime(std::chrono::hours(1))};
  std::atomic<WallTime> wall_{WallTime(std::chrono::seconds(1'700'000'000))};
};

}  // namespace kgpu
