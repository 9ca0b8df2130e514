#include "src/cli/duration.h"

#include <array>
#include <utility>

#include "src/base/strings.h"

namespace kgpu::cli {

using std::chrono::milliseconds;

StatusOr<milliseconds> ParseDuration(std::string_view flag, std::string_view text) {
  constexpr std::array<std::pair<std::string_view, int64_t>, 4> kUnits = {
      {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};
  constexpr int64_t kLongest = 24 * 3'600'000;
  const size_t digits = text.find_first_not_of("0123456789");
  const auto number = ParseUint(text.substr(0, digits));
  const std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  if (number == 0U && unit.empty()) {
    return milliseconds(0);
  }
  for (const auto& [name, factor] : kUnits) {
    if (number && name == unit && *number <= static_cast<uint64_t>(kLongest / factor)) {
      return milliseconds(static_cast<int64_t>(*number) * factor);
    }
  }
  return InvalidArgument("{}: \"{}\" must be a number with ms, s, m or h, at most 24h: 500ms, 60s",
                         flag, Printable(text, 40));
}

}  // namespace kgpu::cli
