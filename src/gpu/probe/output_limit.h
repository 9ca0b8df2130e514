// Splits a child's output into lines for a log: truncates each line, and limits the lines per
// period. Counts what it drops.
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
  unsigned lines = 100;  // per period
  std::chrono::seconds period{60};
};

class OutputLimit {
 public:
  using TakeLine = std::function<void(std::string_view line)>;

  OutputLimit(const OutputLimits& limits, TakeLine take)
      : limits_(limits), take_(std::move(take)) {}

  // The next bytes; they may start and end in the middle of a line.
  void Add(std::string_view bytes, SteadyTime now);
  // A last line without an end counts too.
  void Finish(SteadyTime now);
  // The number of lines dropped since the last call.
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
