// A clock that stands still until the test moves it.
#pragma once

#include "src/platform/base/clock.h"

namespace kgpu {

class FakeClock final : public Clock {
 public:
  SteadyTime Now() const override { return steady_; }
  WallTime WallNow() const override { return wall_; }
  void Advance(std::chrono::nanoseconds by) {
    steady_ += by;
    wall_ += std::chrono::duration_cast<WallTime::duration>(by);
  }

 private:
  SteadyTime steady_{std::chrono::hours(1)};
  WallTime wall_{std::chrono::seconds(1'700'000'000)};
};

}  // namespace kgpu
