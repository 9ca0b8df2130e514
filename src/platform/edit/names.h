// Which key names TOML accepts without quotes.
#pragma once

#include <algorithm>
#include <string_view>

namespace kgpu::edit {

constexpr bool IsBareByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

constexpr bool IsBareName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, IsBareByte);
}

}  // namespace kgpu::edit
