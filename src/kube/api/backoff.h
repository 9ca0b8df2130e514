// How long to wait before the next try: longer after each failure, and randomised so that many
// nodes that failed together do not retry together.
#pragma once

#include <algorithm>
#include <chrono>

#include "src/platform/base/clock.h"
#include "src/platform/base/random.h"

namespace kgpu::kube {

struct BackoffOptions {
  std::chrono::nanoseconds first = std::chrono::milliseconds(800);
  std::chrono::nanoseconds longest = std::chrono::seconds(30);
  // Starts over after this long without a failure.
  std::chrono::nanoseconds reset_after = std::chrono::minutes(2);
};

class Backoff {
 public:
  // `random` must outlive it.
  explicit Backoff(Random& random, BackoffOptions options = {})
      : random_(random), options_(options), step_(options.first) {}

  // The wait after a failure at `now`. Full jitter: a random part of a step that doubles each time;
  // at least a tenth of it, so that bad luck makes no hot loop.
  std::chrono::nanoseconds Next(SteadyTime now) {
    if (now - last_ > options_.reset_after) {
      step_ = options_.first;
    }
    const std::chrono::nanoseconds least = step_ / 10;
    const std::chrono::nanoseconds wait = least + random_.PartOf(step_ - least);
    step_ = std::min(step_ * 2, options_.longest);
    last_ = now + wait;
    return wait;
  }
  void Reset() { step_ = options_.first; }

 private:
  Random& random_;
  BackoffOptions options_;
  std::chrono::nanoseconds step_;
  SteadyTime last_{};  // when the last wait ended
};

}  // namespace kgpu::kube
