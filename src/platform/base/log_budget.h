// Limits log lines of one kind: a burst, then one per period. Counts omitted lines, for the next
// line that is written.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "src/platform/base/clock.h"

namespace kgpu {

class LogBudget {
 public:
  struct Options {
    double burst = 20;
    std::chrono::milliseconds every{10'000};
  };

  explicit LogBudget(const Options& options) : options_(options), left_(options.burst) {}

  // Whether a line may be written at `now`.
  bool Take(SteadyTime now) {
    const std::chrono::duration<double> since = now - filled_;
    const std::chrono::duration<double> every = options_.every;
    left_ = std::min(options_.burst, left_ + since / every);
    filled_ = now;
    if (left_ < 1) {
      ++left_out_;
      return false;
    }
    left_ -= 1;
    return true;
  }
  // Lines omitted since the last call.
  uint64_t TakeLeftOut() { return std::exchange(left_out_, 0); }

 private:
  Options options_;
  double left_ = 0;
  SteadyTime filled_{};
  uint64_t left_out_ = 0;
};

}  // namespace kgpu
