// Resource amounts in Kubernetes' notation: "2", "1500m", "40Gi". Pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kgpu {

// In thousandths, the unit in which CPUs are shared.
struct Amount {
  int64_t milli = 0;
  auto operator<=>(const Amount&) const = default;
  bool IsWhole() const { return milli % 1000 == 0; }
};

// Both saturate at an Amount's limits.
Amount operator+(Amount a, Amount b);
Amount operator-(Amount a, Amount b);

// By resource name; missing ones are zero.
using Amounts = std::map<std::string, Amount, std::less<>>;
Amount AmountOf(const Amounts& amounts, std::string_view resource);
void AddTo(Amounts& sum, const Amounts& more);

// Any notation: suffixes n, u, m, k … E, Ki … Ei, exponents. Finer than a thousandth is
// rounded up, too large becomes the largest. Nothing for a text that is no quantity, or is
// negative.
std::optional<Amount> ParseAmount(std::string_view text);

// For people, in the resource's usual notation: memory and storage "40Gi", all others "2",
// "1500m".
std::string AmountText(std::string_view resource, Amount amount);

}  // namespace kgpu
