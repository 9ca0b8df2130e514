// Durations as people write them, on the command line and in files.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu {

// "500ms", "60s", "5m", "2h": a whole number and a unit; "0" alone is allowed. At most 24 hours.
// Errors: InvalidArgument naming `what` (a flag, a field), the value and the units.
StatusOr<std::chrono::milliseconds> ParseDuration(std::string_view what, std::string_view text);

// How far back to look: "90m", "24h", "7d", and seconds; at most ten years. Errors: as above.
StatusOr<std::chrono::seconds> ParseSince(std::string_view what, std::string_view text);

// The shortest text that ParseDuration reads back: "90s", "2h", "1500ms", "0".
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace kgpu
