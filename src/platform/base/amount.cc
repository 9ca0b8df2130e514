#include "src/platform/base/amount.h"

#include <array>

#include <fmt/format.h>

#include "src/platform/base/bytes.h"
#include "src/platform/base/strings.h"

namespace kgpu {
namespace {

using Wide = __int128;

constexpr Wide kNano = 1'000'000'000;
constexpr Wide kMost = Wide{INT64_MAX} * (kNano / 1000);

struct Suffix {
  std::string_view text;
  Wide factor;
};

constexpr std::array kSuffixes = {
    Suffix{"", kNano},
    Suffix{"m", 1'000'000},
    Suffix{"u", 1000},
    Suffix{"n", 1},
    Suffix{"k", kNano * 1000},
    Suffix{"M", kNano * 1'000'000},
    Suffix{"G", kNano * 1'000'000'000},
    Suffix{"T", kNano * 1'000'000'000'000},
    Suffix{"P", kNano * 1'000'000'000'000'000},
    Suffix{"E", kNano * 1'000'000'000'000'000'000},
    Suffix{"Ki", kNano << 10},
    Suffix{"Mi", kNano << 20},
    Suffix{"Gi", kNano << 30},
    Suffix{"Ti", kNano << 40},
    Suffix{"Pi", kNano << 50},
    Suffix{"Ei", kNano << 60},
};

// "e3", "E-2": what one unit is in nanos.
std::optional<Wide> FactorOfExponent(std::string_view text) {
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) {
    return std::nullopt;
  }
  const bool is_negative = text[1] == '-';
  const auto power = ParseUint(text.substr(is_negative || text[1] == '+' ? 2 : 1));
  if (!power || *power > 18) {
    return std::nullopt;
  }
  Wide factor = kNano;
  for (uint64_t i = 0; i < *power; ++i) {
    factor = is_negative ? (factor + 9) / 10 : factor * 10;
  }
  return factor;
}

std::optional<Wide> FactorOf(std::string_view text) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.text == text) {
      return suffix.factor;
    }
  }
  return FactorOfExponent(text);
}

// The leading number: "1.25" is 125 with two decimals; digits after the ninth decimal are ignored.
struct Decimal {
  Wide mantissa = 0;
  int decimals = 0;
  size_t size = 0;  // in characters
  bool has_digit = false;
};

Decimal ReadDecimal(std::string_view text) {
  constexpr Wide kLargest = Wide{INT64_MAX} * 1000;
  constexpr int kDecimals = 9;
  Decimal read;
  bool has_point = false;
  for (; read.size < text.size(); ++read.size) {
    const char c = text[read.size];
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9') {
      break;
    }
    read.has_digit = true;
    if (read.decimals < kDecimals && read.mantissa < kLargest) {
      read.mantissa = read.mantissa * 10 + (c - '0');
      read.decimals += has_point ? 1 : 0;
    }
    // A number of that length is above the largest amount, whatever follows.
  }
  return read;
}

// In nanos, rounded up; at most kMost.
Wide Scale(const Decimal& decimal, Wide factor) {
  // A double is enough to see that the exact product would not fit; nine decimals do not bring it
  // back below kMost.
  if (static_cast<double>(decimal.mantissa) * static_cast<double>(factor) > 1e37) {
    return kMost;
  }
  Wide value = decimal.mantissa * factor;
  for (int i = 0; i < decimal.decimals; ++i) {
    value = (value + 9) / 10;
  }
  return value < kMost ? value : kMost;
}

bool IsBytes(std::string_view resource) {
  return resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
         resource.starts_with("hugepages-");
}

}  // namespace

Amount operator+(Amount a, Amount b) {
  Amount sum;
  if (__builtin_add_overflow(a.milli, b.milli, &sum.milli)) {
    sum.milli = a.milli < 0 ? INT64_MIN : INT64_MAX;
  }
  return sum;
}

Amount operator-(Amount a, Amount b) {
  Amount difference;
  if (__builtin_sub_overflow(a.milli, b.milli, &difference.milli)) {
    difference.milli = a.milli < 0 ? INT64_MIN : INT64_MAX;
  }
  return difference;
}

Amount AmountOf(const Amounts& amounts, std::string_view resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? Amount() : found->second;
}

void AddTo(Amounts& sum, const Amounts& more) {
  for (const auto& [resource, amount] : more) {
    Amount& total = sum[resource];
    total = total + amount;
  }
}

std::optional<Amount> ParseAmount(std::string_view text) {
  if (text.size() > 64) {
    return std::nullopt;
  }
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  const Decimal decimal = ReadDecimal(text);
  const auto factor = FactorOf(text.substr(decimal.size));
  if (!decimal.has_digit || !factor) {
    return std::nullopt;
  }
  constexpr Wide kMilli = kNano / 1000;
  const Wide milli = (Scale(decimal, *factor) + kMilli - 1) / kMilli;
  return Amount{milli > INT64_MAX ? INT64_MAX : static_cast<int64_t>(milli)};
}

std::string AmountText(std::string_view resource, Amount amount) {
  if (!amount.IsWhole()) {
    return fmt::format("{}m", amount.milli);
  }
  const int64_t whole = amount.milli / 1000;
  return IsBytes(resource) && whole >= 0 ? FormatQuantity(Bytes{static_cast<uint64_t>(whole)})
                                         : fmt::format("{}", whole);
}

}  // namespace kgpu
