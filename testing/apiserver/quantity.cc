#include "testing/apiserver/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstdint>

#include "src/platform/base/strings.h"

namespace kgpu::apiserver {
namespace {

using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMost = Wide{INT64_MAX} * kNano;

struct Suffix {
  std::string_view text;
  int base;  // 2 or 10
  int power;
};
constexpr std::array<Suffix, 15> kSuffixes = {{{"Ki", 2, 10},
                                               {"Mi", 2, 20},
                                               {"Gi", 2, 30},
                                               {"Ti", 2, 40},
                                               {"Pi", 2, 50},
                                               {"Ei", 2, 60},
                                               {"n", 10, -9},
                                               {"u", 10, -6},
                                               {"m", 10, -3},
                                               {"", 10, 0},
                                               {"k", 10, 3},
                                               {"M", 10, 6},
                                               {"G", 10, 9},
                                               {"T", 10, 12},
                                               {"P", 10, 15}}};

std::optional<Suffix> FindSuffix(std::string_view text) {
  if (text == "E") {
    return Suffix{text, 10, 18};
  }
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) {
      return suffix;
    }
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) {
    return std::nullopt;
  }
  const bool is_negative = text[1] == '-';
  const auto power = ParseUint(text.substr(is_negative || text[1] == '+' ? 2 : 1));
  if (!power || *power > 18) {
    return std::nullopt;
  }
  return Suffix{text, 10, is_negative ? -static_cast<int>(*power) : static_cast<int>(*power)};
}

// In nanos. Nothing when it does not fit.
std::optional<Wide> Scale(Wide mantissa, int decimals, const Suffix& suffix) {
  Wide value = mantissa * kNano;
  for (int i = 0; i < suffix.power; ++i) {
    value *= suffix.base;
    if (value > kMost * 1000) {
      return std::nullopt;
    }
  }
  for (int i = 0; i < decimals - (suffix.power < 0 ? suffix.power : 0); ++i) {
    value = (value + 9) / 10;
  }
  return value > kMost ? std::nullopt : std::optional(value);
}

// The number in front: 1.25 is mantissa 125 with 2 decimals.
struct Decimal {
  Wide mantissa = 0;
  int decimals = 0;
  bool has_digit = false;
  size_t size = 0;  // in characters
};

Decimal ReadDecimal(std::string_view text) {
  Decimal read;
  bool has_point = false;
  for (; read.size < text.size() && read.size < 40; ++read.size) {
    const char c = text[read.size];
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9') {
      break;
    }
    read.has_digit = true;
    // Past that, digits are not distinguished.
    if (read.mantissa <= INT64_MAX / 10 && read.decimals < 9) {
      read.mantissa = read.mantissa * 10 + (c - '0');
      read.decimals += has_point ? 1 : 0;
    }
  }
  return read;
}

std::string Print(Wide nanos, bool is_binary) {
  if (is_binary && nanos % (kNano * 1024) == 0) {
    Wide value = nanos / kNano;
    std::string_view suffix;
    for (size_t i = 0; i < 6 && value != 0 && value % 1024 == 0; ++i) {
      value /= 1024;
      suffix = kSuffixes[i].text;
    }
    return fmt::format("{}{}", value, suffix);
  }
  static constexpr std::array<std::string_view, 10> kDecimal = {"n", "u", "m", "",  "k",
                                                                "M", "G", "T", "P", "E"};
  size_t at = 0;
  if (is_binary && nanos % kNano == 0) {
    return fmt::format("{}", nanos / kNano);
  }
  while (nanos != 0 && nanos % 1000 == 0 && at + 1 < kDecimal.size()) {
    nanos /= 1000;
    ++at;
  }
  return nanos == 0 ? "0" : fmt::format("{}{}", nanos, kDecimal.at(at));
}

}  // namespace

std::optional<std::string> CanonicalQuantity(std::string_view text) {
  const std::string_view all = text;
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const Decimal decimal = ReadDecimal(text);
  const auto suffix = FindSuffix(text.substr(decimal.size));
  if (!decimal.has_digit || !suffix) {
    return std::nullopt;
  }
  const auto nanos = Scale(decimal.mantissa, decimal.decimals, *suffix);
  if (!nanos) {
    return std::string(all);
  }
  return fmt::format("{}{}", is_negative && *nanos != 0 ? "-" : "",
                     Print(*nanos, suffix->base == 2));
}

std::optional<int64_t> MilliOf(std::string_view text) {
  const Decimal decimal = ReadDecimal(text);
  const auto suffix = FindSuffix(text.substr(decimal.size));
  if (!decimal.has_digit || !suffix) {
    return std::nullopt;
  }
  const auto nanos = Scale(decimal.mantissa, decimal.decimals, *suffix);
  if (!nanos || *nanos / 1'000'000 >= INT64_MAX) {
    return std::nullopt;
  }
  return static_cast<int64_t>((*nanos + 999'999) / 1'000'000);
}

}  // namespace kgpu::apiserver
