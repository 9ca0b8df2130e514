// The lines of several replicas' logs as one text.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/functions/service/function_provider.h"
#include "src/platform/base/clock.h"

namespace kgpu::functions {

// Of all replicas of a function together.
inline constexpr size_t kMaxLogText = size_t{16} << 20;

struct LogLine {
  WallTime time{};
  std::string text{};  // with its newline, unless the line continues
  bool operator==(const LogLine&) const = default;
};

// The lines that `request` selects, in the order of time: the newest, up to kMaxLogText bytes.
std::string JoinLogLines(std::vector<LogLine> lines, const LogRequest& request);

}  // namespace kgpu::functions
