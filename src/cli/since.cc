#include "src/cli/since.h"

#include <CLI/CLI.hpp>
#include <chrono>

#include "src/base/duration.h"
#include "src/base/status_macros.h"
#include "src/base/strings.h"

namespace kgpu::cli {

using std::chrono::days;

StatusOr<WallTime> ParseSince(std::string_view text, WallTime now) {
  constexpr uint64_t kMaxDays = 3650;
  if (text.ends_with('d')) {
    const auto count = ParseUint(text.substr(0, text.size() - 1));
    if (count && *count <= kMaxDays) {
      return now - days(static_cast<int>(*count));
    }
  }
  const auto length = ParseDuration("--since", text);
  if (!length.ok()) {
    return InvalidArgument("--since: \"{}\" must be a number with s, m, h or d: 90m, 24h, 7d",
                           Printable(text, 40));
  }
  return now - *length;
}

void AddSinceOption(CLI::App& verb, std::string& since, const std::string& description) {
  verb.add_option("--since", since, description)->type_name("DURATION")->capture_default_str();
}

}  // namespace kgpu::cli
