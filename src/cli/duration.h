// Lengths of time on the command line.
#pragma once

#include <chrono>
#include <string_view>

#include "src/base/status.h"

namespace kgpu::cli {

// "500ms", "60s", "5m", "2h": a whole number and a unit; "0" alone is allowed. At most 24 hours.
// Errors: InvalidArgument naming `flag`, the value and the units.
StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view flag, std::string_view text);

}  // namespace kgpu::cli
