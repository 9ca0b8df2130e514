// How soon to read the GPUs again after waiting for driver events fails. Pure.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/platform/base/clock.h"

namespace kgpu::inventory {

// With some drivers, every wait fails, endlessly, while one GPU is lost. The first failure deserves
// an immediate read, the thousandth does not. Owned by the inventory; lives on the loop's thread.
class EventTrouble {
 public:
  // The pause before a read starts at `first` and doubles up to `last`. After 2 × `last` without a
  // failure it starts at `first` again.
  EventTrouble(std::chrono::milliseconds first, std::chrono::milliseconds last)
      : first_(first), last_(last), pause_(first) {}

  // A wait failed at `now`; returns the delay until the read that should follow.
  std::chrono::milliseconds Note(SteadyTime now) {
    if (noted_ && now - *noted_ > 2 * last_) {
      pause_ = first_;
    }
    noted_ = now;
    return std::exchange(pause_, std::min(pause_ * 2, last_));
  }
  // An event arrived.
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
