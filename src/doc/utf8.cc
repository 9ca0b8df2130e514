#include "src/doc/utf8.h"

#include <cstdint>

namespace kgpu::doc {
namespace {

// Length of the well-formed sequence at the beginning of `text`; 0 when there is none.
size_t SequenceLength(std::string_view text) {
  const auto byte = [text](size_t i) -> uint8_t {
    return i < text.size() ? static_cast<uint8_t>(text[i]) : 0;
  };
  const auto is_within = [&byte](size_t i, uint8_t low, uint8_t high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const auto continues = [&is_within](size_t i) { return is_within(i, 0x80, 0xbf); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xc2 && first <= 0xdf) {
    return continues(1) ? 2 : 0;
  }
  if (first >= 0xe0 && first <= 0xef) {
    const uint8_t low = first == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : 0xbf;
    return is_within(1, low, high) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const uint8_t low = first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xf4 ? 0x8f : 0xbf;
    return is_within(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = SequenceLength(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace kgpu::doc
