// Versions as rule expressions compare them. Pure functions.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kgpu::labels {

// Comparisons ignore what follows the three numbers ("-91-generic", "+build").
struct Version {
  uint64_t major = 0;
  uint64_t minor = 0;
  uint64_t patch = 0;
  auto operator<=>(const Version&) const = default;
};

// "6", "v5.14", "5.14.0-427.el9.x86_64"; nothing if the text does not start like that.
std::optional<Version> ParseVersion(std::string_view text);

}  // namespace kgpu::labels
