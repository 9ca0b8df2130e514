// Amounts such as "1Gi", "500m" or "1e3".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kgpu::apiserver {

// The spelling in which a server stores the amount: "1024Mi" is "1Gi", "0.5" is "500m". Nothing
// if the text is no quantity. Amounts below 1n are rounded up, those above 2^63 are kept as they
// are.
std::optional<std::string> CanonicalQuantity(std::string_view text);

// The amount in thousandths, rounded up; nothing if the text is no quantity, is negative or too
// large.
std::optional<int64_t> MilliOf(std::string_view text);

}  // namespace kgpu::apiserver
