// "--since 24h": how far back a verb looks.
#pragma once

#include <string>
#include <string_view>

#include "src/base/clock.h"
#include "src/base/status.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

// The time that long before `now`: "90m", "24h", or days, "7d". Errors: InvalidArgument naming the
// units.
StatusOr<WallTime> ParseSince(std::string_view text, WallTime now);

// --since. `since` outlives the parse.
void AddSinceOption(CLI::App& verb, std::string& since, const std::string& description);

}  // namespace kgpu::cli
