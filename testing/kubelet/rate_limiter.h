// A token bucket: so many requests a second, and a few at once.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "src/platform/base/clock.h"

namespace kgpu::kubelet {

// Lives on one thread.
class RateLimiter {
 public:
  // Starts full. `clock` outlives the limiter.
  RateLimiter(const Clock& clock, uint32_t per_second, uint32_t burst)
      : clock_(clock), per_second_(per_second), burst_(burst), tokens_(burst), at_(clock.Now()) {}

  // True when one more request may go on.
  bool Take() {
    const SteadyTime now = clock_.Now();
    const std::chrono::duration<double> passed = now - at_;
    at_ = now;
    tokens_ = std::min<double>(burst_, tokens_ + passed.count() * per_second_);
    if (tokens_ < 1) {
      return false;
    }
    tokens_ -= 1;
    return true;
  }

 private:
  const Clock& clock_;
  uint32_t per_second_;
  uint32_t burst_;
  double tokens_;
  SteadyTime at_;
};

}  // namespace kgpu::kubelet
