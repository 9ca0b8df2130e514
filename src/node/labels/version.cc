#include "src/node/labels/version.h"

#include <algorithm>
#include <array>

#include "src/platform/base/strings.h"

namespace kgpu::labels {

std::optional<Version> ParseVersion(std::string_view text) {
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  text = text.substr(0, text.find_first_of("-+"));
  const auto parts = Split(text, '.');
  std::array<uint64_t, 3> numbers = {};
  if (parts.size() > numbers.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto number = ParseUint(parts[i]);
    if (!number) {
      return std::nullopt;
    }
    numbers.at(i) = *number;
  }
  return Version{.major = numbers[0], .minor = numbers[1], .patch = numbers[2]};
}

}  // namespace kgpu::labels
