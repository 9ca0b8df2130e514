#include "src/platform/base/base64.h"

#include <cstdint>

namespace kgpu {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view part = bytes.substr(i, 3);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8U | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0U);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= part.size() ? kDigits[group >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

StatusOr<std::string> DecodeBase64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  size_t digits = 0;  // all together
  size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ' || c == '\t') {
      continue;
    }
    const size_t digit = kDigits.find(c);
    if (c == '=') {
      ++padding;
    } else if (digit == kDigits.npos || padding > 0) {
      return InvalidArgument("is not base64");
    } else {
      group = group << 6U | static_cast<uint32_t>(digit);
      if (++digits % 4 != 1) {
        bytes += static_cast<char>(group >> (6 - 2 * ((digits - 1) % 4)) & 255U);
      }
    }
  }
  const size_t tail = digits % 4;
  if (tail == 1 || padding != (tail == 0 ? 0 : 4 - tail)) {
    return InvalidArgument("is not base64: it is truncated, or lacks padding");
  }
  return bytes;
}

}  // namespace kgpu
