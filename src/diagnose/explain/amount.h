// Amounts of resources as Kubernetes writes them: "2", "1500m", "40Gi". Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kgpu::explain {

// In thousandths, since CPUs are shared in those.
struct Amount {
  int64_t milli = 0;
  auto operator<=>(const Amount&) const = default;
  bool IsWhole() const { return milli % 1000 == 0; }
};

// Neither goes past what an Amount holds.
Amount operator+(Amount a, Amount b);
Amount operator-(Amount a, Amount b);

// By name of the resource; what is not in it is zero.
using Amounts = std::map<std::string, Amount, std::less<>>;
Amount AmountOf(const Amounts& amounts, std::string_view resource);
void AddTo(Amounts& sum, const Amounts& more);

// Any spelling: suffixes n, u, m, k … E, Ki … Ei, exponents. What is finer than a thousandth is
// rounded up, what is too large is the largest. Nothing for a text that is no quantity, or is
// negative.
std::optional<Amount> ParseAmount(std::string_view text);

// For people, as the resource is usually written: memory and storage "40Gi", all others "2",
// "1500m".
std::string AmountText(std::string_view resource, Amount amount);

// A resource of devices: its name has a domain that is not Kubernetes' own.
bool IsExtended(std::string_view resource);

}  // namespace kgpu::explain
