#include "testing/cuda/ptx_numbers.h"

namespace kgpu::ptx {
namespace {

int Digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool ParseDigits(const char* text, size_t size, unsigned base, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < size; ++i) {
    const auto digit = static_cast<unsigned>(Digit(text[i]));
    if (digit >= base || *value > (UINT64_MAX - digit) / base) {
      return false;
    }
    *value = *value * base + digit;
  }
  return size > 0;
}

bool HasPrefix(const Token& token, char small, char large) {
  return token.size > 2 && token.text[0] == '0' &&
         (token.text[1] == small || token.text[1] == large);
}

}  // namespace

bool ParseNumber(const Token& token, bool is_negative, Type type, uint64_t* bits) {
  if (type == Type::kF32) {
    return HasPrefix(token, 'f', 'F') && token.size == 10 && !is_negative &&
           ParseDigits(token.text + 2, 8, 16, bits);
  }
  const bool is_hex = HasPrefix(token, 'x', 'X');
  uint64_t value = 0;
  if (!(is_hex ? ParseDigits(token.text + 2, token.size - 2, 16, &value)
               : ParseDigits(token.text, token.size, 10, &value))) {
    return false;
  }
  const uint64_t limit = SizeOf(type) == 4 ? UINT32_MAX : UINT64_MAX;
  if (value > (is_negative ? limit / 2 + 1 : limit)) {
    return false;
  }
  *bits = (is_negative ? 0 - value : value) & limit;
  return true;
}

bool ParseCount(const Token& token, uint32_t limit, uint32_t* value) {
  uint64_t number = 0;
  if (!ParseDigits(token.text, token.size, 10, &number) || number > limit) {
    return false;
  }
  *value = static_cast<uint32_t>(number);
  return true;
}

}  // namespace kgpu::ptx
