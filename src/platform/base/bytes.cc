#include "src/platform/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

// Units of a quantity, the binary ones from the smallest up.
constexpr std::array<std::pair<std::string_view, uint64_t>, 11> kQuantityUnits = {{
    {"", 1},
    {"Ki", uint64_t{1} << 10},
    {"Mi", uint64_t{1} << 20},
    {"Gi", uint64_t{1} << 30},
    {"Ti", uint64_t{1} << 40},
    {"Pi", uint64_t{1} << 50},
    {"k", 1'000},
    {"M", 1'000'000},
    {"G", 1'000'000'000},
    {"T", 1'000'000'000'000},
    {"P", 1'000'000'000'000'000},
}};
constexpr size_t kBinaryUnits = 6;

std::optional<uint64_t> UnitOf(std::string_view name) {
  for (const auto& [unit, factor] : kQuantityUnits) {
    if (unit == name) {
      return factor;
    }
  }
  return std::nullopt;
}

// "79.5" times `unit`; nothing when it is no number or too large. At most three decimals.
std::optional<uint64_t> Scaled(std::string_view number, uint64_t unit) {
  const size_t point = number.find('.');
  const auto whole = ParseUint(number.substr(0, point));
  uint64_t total = 0;
  if (!whole || __builtin_mul_overflow(*whole, unit, &total)) {
    return std::nullopt;
  }
  if (point == std::string_view::npos) {
    return total;
  }
  const std::string_view decimals = number.substr(point + 1);
  const auto part = ParseUint(decimals);
  if (!part || decimals.size() > 3) {
    return std::nullopt;
  }
  constexpr std::array<uint64_t, 4> kPowers = {1, 10, 100, 1000};
  const uint64_t power = kPowers.at(decimals.size());
  const uint64_t rest = unit / power * *part + unit % power * *part / power;
  return __builtin_add_overflow(total, rest, &total) ? std::nullopt : std::optional(total);
}

}  // namespace

std::string FormatBytes(Bytes bytes) {
  static constexpr std::array<std::string_view, 6> kUnits = {"B",   "KiB", "MiB",
                                                             "GiB", "TiB", "PiB"};
  uint64_t tenths = bytes.count * 10;
  size_t unit = 0;
  if (bytes.count > UINT64_MAX / 10) {
    tenths = (bytes.count >> 10) * 10;
    unit = 1;
  }
  while (tenths >= 10240 && unit + 1 < kUnits.size()) {
    tenths = (tenths + 512) / 1024;
    ++unit;
  }
  if (tenths % 10 == 0) {
    return fmt::format("{} {}", tenths / 10, kUnits.at(unit));
  }
  return fmt::format("{}.{} {}", tenths / 10, tenths % 10, kUnits.at(unit));
}

StatusOr<Bytes> ParseQuantity(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = UnitOf(text.substr(digits));
  const auto count = unit ? Scaled(text.substr(0, digits), *unit) : std::nullopt;
  if (!count) {
    return InvalidArgument(
        "\"{}\" must be an amount of memory: a number with Ki, Mi, Gi, Ti (or k, M, G, T): 40Gi",
        Printable(text, 40));
  }
  return Bytes{*count};
}

std::string FormatQuantity(Bytes bytes) {
  auto best = kQuantityUnits.front();
  for (size_t i = 0; i < kBinaryUnits && bytes.count != 0; ++i) {
    best = bytes.count % kQuantityUnits.at(i).second == 0 ? kQuantityUnits.at(i) : best;
  }
  return fmt::format("{}{}", bytes.count / best.second, best.first);
}

}  // namespace kgpu
