// Time as a dependency: production uses RealClock, tests use testing/fake_clock.h. Durations and
// deadlines use steady time; wall time is only for what people read.
#pragma once

#include <chrono>

namespace kgpu {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic; counts while the machine is awake. Thread: any. Source: CLOCK_MONOTONIC.
  virtual SteadyTime Now() const = 0;
  // The wall clock's time; may jump. Thread: any. Source: CLOCK_REALTIME.
  virtual WallTime WallNow() const = 0;
};

class RealClock final : public Clock {
 public:
  SteadyTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime WallNow() const override { return std::chrono::system_clock::now(); }
};

}  // namespace kgpu
