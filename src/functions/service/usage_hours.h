// How much functions were used, hour by hour, in a file of bounded size.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct FunctionUse {
  uint64_t calls = 0;
  uint64_t errors = 0;  // of the calls
  uint64_t cold_starts = 0;
  double call_seconds = 0;
  double gpu_busy_seconds = 0;
  double gpu_held_seconds = 0;

  FunctionUse& operator+=(const FunctionUse& more);
  bool operator==(const FunctionUse&) const = default;
};

class UsageHours {
 public:
  using Hour = std::chrono::sys_time<std::chrono::hours>;

  static constexpr std::chrono::days kKept{35};
  // Of one hour; what is over it is counted under "(others)".
  static constexpr size_t kMaxFunctionsAnHour = 512;

  // Reads what Text wrote. Errors: InvalidArgument.
  static StatusOr<UsageHours> Parse(std::string_view text);

  void Add(const std::string& function, const FunctionUse& use, WallTime now);
  // The sum of the hours since `from`, by function.
  std::map<std::string, FunctionUse> Since(WallTime from) const;

  // A line for each hour and function.
  std::string Text() const;
  // Whether anything was added since the last call.
  bool TakeChanged();

 private:
  void DropOld(Hour now);

  std::map<Hour, std::map<std::string, FunctionUse>> hours_;
  bool has_changed_ = false;
};

}  // namespace kgpu::functions
