// How soon to look at the GPUs when waiting for the driver's events fails. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/platform/base/clock.h"

namespace kgpu::inventory {

// Some drivers let every wait fail, without end, while one GPU is lost. The first failure is worth
// a look at once, the thousandth is not. Owned by the inventory; lives on the loop's thread.
class EventTrouble {
 public:
  // The pause before a look is `first` and doubles up to `last`. After `last` twice without a
  // failure it is `first` again.
  EventTrouble(std::chrono::milliseconds first, std::chrono::milliseconds last)
      : first_(first), last_(last), pause_(first) {}

  // A wait failed at `now`: how long until the look that it is worth.
  std::chrono::milliseconds Note(SteadyTime now) {
    if (noted_ && now - *noted_ > 2 * last_) {
      pause_ = first_;
    }
    noted_ = now;
    return std::exchange(pause_, std::min(pause_ * 2, last_));
  }
  // An event came.
  void Clear() {
    pause_ = first_;
    noted_.reset();
  }

 private:
  const std::chrono::milliseconds first_;
  const std::chrono::milliseconds last_;
  std::chrono::milliseconds pause_;
  std::optional<SteadyTime> noted_;
};

}  // namespace kgpu::inventory
