// How long to wait before the next try: longer after each failure.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "src/platform/base/clock.h"
#include "src/platform/base/random.h"

namespace kgpu {

struct BackoffOptions {
  std::chrono::nanoseconds first = std::chrono::milliseconds(800);
  std::chrono::nanoseconds longest = std::chrono::seconds(30);
  // Starts over after this long without a failure.
  std::chrono::nanoseconds reset_after = std::chrono::minutes(2);
};

// The wait after `failures` failures in a row without jitter: `first`, doubled with each further
// one up to `longest`; 0 for no failure.
inline std::chrono::nanoseconds DoublingPause(int64_t failures, std::chrono::nanoseconds first,
                                              std::chrono::nanoseconds longest) {
  if (failures <= 0) {
    return {};
  }
  std::chrono::nanoseconds pause = std::min(first, longest);
  for (int64_t i = 1; i < failures && pause < longest; ++i) {
    pause = std::min(pause * 2, longest);
  }
  return pause;
}

class Backoff {
 public:
  // With jitter, for what many nodes or objects may try at the same time. `random` must outlive it.
  explicit Backoff(Random& random, BackoffOptions options = {})
      : random_(&random), options_(options), step_(options.first) {}
  // Without jitter, for what concerns this process alone.
  explicit Backoff(BackoffOptions options) : options_(options), step_(options.first) {}

  // The wait after a failure at `now`: a step that doubles each time, or with jitter a random part
  // of it ("full jitter"), at least a tenth, so that bad luck makes no hot loop.
  std::chrono::nanoseconds Next(SteadyTime now) {
    if (now - last_ > options_.reset_after) {
      step_ = options_.first;
    }
    std::chrono::nanoseconds wait = step_;
    if (random_ != nullptr) {
      wait = step_ / 10 + random_->PartOf(step_ - step_ / 10);
    }
    step_ = std::min(step_ * 2, options_.longest);
    last_ = now + wait;
    return wait;
  }
  void Reset() { step_ = options_.first; }

 private:
  Random* random_ = nullptr;  // null: no jitter
  BackoffOptions options_;
  std::chrono::nanoseconds step_;
  SteadyTime last_{};  // when the last wait ended
};

}  // namespace kgpu
