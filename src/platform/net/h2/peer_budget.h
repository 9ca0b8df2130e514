// How much a peer may cost us without asking for anything: resets, pings, settings and empty
// frames.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "src/platform/base/clock.h"

namespace kgpu::h2 {

// A budget that refills with time and with requests that were answered. An ordinary client pings a
// few times per second at most, and cancels some of its calls.
class PeerBudget {
 public:
  void Refill(SteadyTime now) {
    if (last_) {
      const std::chrono::duration<double> passed = now - *last_;
      left_ = std::min(kMost, left_ + passed.count() * kPerSecond);
    }
    last_ = now;
  }
  void AddAnswer() { left_ = std::min(kMost, left_ + kPerAnswer); }
  void Spend(double cost) { left_ -= cost; }
  bool is_spent() const { return left_ < 0; }

 private:
  static constexpr double kMost = 500;
  static constexpr double kPerSecond = 20;
  static constexpr double kPerAnswer = 4;

  double left_ = kMost;
  std::optional<SteadyTime> last_;
};

}  // namespace kgpu::h2
