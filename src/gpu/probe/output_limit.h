// What a child process prints, as lines for a log: each cut to a length, and only so many in a
// period. What is dropped is counted.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"

namespace kgpu::probe {

struct OutputLimits {
  size_t line_bytes = 400;
  unsigned lines = 100;  // of one period
  std::chrono::seconds period{60};
};

class OutputLimit {
 public:
  using TakeLine = std::function<void(std::string_view line)>;

  OutputLimit(const OutputLimits& limits, TakeLine take)
      : limits_(limits), take_(std::move(take)) {}

  // The next bytes; lines may begin and end anywhere in them.
  void Add(std::string_view bytes, SteadyTime now);
  // A last line that did not end counts too.
  void Finish(SteadyTime now);
  // How many lines were dropped since the last call.
  uint64_t TakeDropped();
  bool has_dropped() const { return dropped_ > 0; }

 private:
  void EndLine(SteadyTime now);

  const OutputLimits limits_;
  TakeLine take_;
  std::string line_;  // so far, at most line_bytes
  bool is_cut_ = false;
  unsigned taken_ = 0;  // in this period
  SteadyTime period_end_{};
  uint64_t dropped_ = 0;
};

}  // namespace kgpu::probe
