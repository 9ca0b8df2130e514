// ASCII character classes. Unlike <cctype>, they ignore the locale and accept every byte.
#pragma once

namespace kgpu {

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool IsLower(char c) {
  return c >= 'a' && c <= 'z';
}

constexpr bool IsLetter(char c) {
  return IsLower(c) || (c >= 'A' && c <= 'Z');
}

constexpr bool IsAlphanumeric(char c) {
  return IsLetter(c) || IsDigit(c);
}

}  // namespace kgpu
