#include "src/platform/base/duration.h"

#include <array>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu {

using std::chrono::milliseconds;

namespace {

// From the smallest up.
constexpr std::array<std::pair<std::string_view, int64_t>, 4> kUnits = {
    {{"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}}};

}  // namespace

StatusOr<milliseconds> ParseDuration(std::string_view what, std::string_view text) {
  constexpr int64_t kLongest = int64_t{24} * 3'600'000;
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
                         what, Printable(text, 40));
}

StatusOr<std::chrono::seconds> ParseSince(std::string_view what, std::string_view text) {
  constexpr std::array<std::pair<char, int64_t>, 4> kSeconds = {
      {{'s', 1}, {'m', 60}, {'h', 3'600}, {'d', 86'400}}};
  constexpr int64_t kMostDays = 3650;
  const auto number = text.empty() ? std::nullopt : ParseUint(text.substr(0, text.size() - 1));
  for (const auto& [unit, seconds] : kSeconds) {
    if (number && text.back() == unit &&
        *number <= static_cast<uint64_t>(kMostDays * 86'400 / seconds)) {
      return std::chrono::seconds(static_cast<int64_t>(*number) * seconds);
    }
  }
  return InvalidArgument(
      "{}: \"{}\" must be a number followed by s, m, h or d, such as 90m, 24h or 7d; at most {}d",
      what, Printable(text, 40), kMostDays);
}

std::string FormatDuration(milliseconds duration) {
  const int64_t count = duration.count();
  if (count == 0) {
    return "0";
  }
  auto best = kUnits.front();
  for (const auto& unit : kUnits) {
    best = count % unit.second == 0 ? unit : best;
  }
  return fmt::format("{}{}", count / best.second, best.first);
}

}  // namespace kgpu
