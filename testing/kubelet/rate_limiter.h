// A token bucket: a number of requests per second, with a burst.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "src/platform/base/clock.h"

namespace kgpu::kubelet {

// Lives on one thread.
class RateLimiter {
 public:
  // Starts full. `clock` must outlive the limiter.
  RateLimiter(const Clock& clock, uint32_t per_second, uint32_t burst)
      : clock_(clock), per_second_(per_second), burst_(burst), tokens_(burst), at_(clock.Now()) {}

  // True if one more request is allowed.
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
