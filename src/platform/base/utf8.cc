#include "src/platform/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kgpu {
namespace {

// Which second bytes may follow which first ones; every further byte is 80 to BF.
struct SequenceRow {
  uint8_t first_low, first_high;
  uint8_t second_low, second_high;
  size_t length;
};
constexpr std::array<SequenceRow, 8> kSequences = {{
    {0xc2, 0xdf, 0x80, 0xbf, 2},
    {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4},
    {0xf4, 0xf4, 0x80, 0x8f, 4},
}};

bool IsWithin(char c, uint8_t low, uint8_t high) {
  const auto byte = static_cast<uint8_t>(c);
  return byte >= low && byte <= high;
}

// The longest character. Source: RFC 3629.
constexpr size_t kMaxLength = 4;

}  // namespace

size_t Utf8Length(std::string_view text) {
  if (IsWithin(text[0], 0x00, 0x7f)) {
    return 1;
  }
  const auto* const row = std::ranges::find_if(kSequences, [text](const SequenceRow& candidate) {
    return IsWithin(text[0], candidate.first_low, candidate.first_high);
  });
  if (row == kSequences.end() || text.size() < row->length ||
      !IsWithin(text[1], row->second_low, row->second_high)) {
    return 0;
  }
  const std::string_view rest = text.substr(2, row->length - 2);
  const bool is_continued =
      std::ranges::all_of(rest, [](char c) { return IsWithin(c, 0x80, 0xbf); });
  return is_continued ? row->length : 0;
}

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return !IsWithin(c, 0x80, 0xbf); }));
}

std::optional<size_t> FindInvalidUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) {
      return at;
    }
    at += length;
  }
  return std::nullopt;
}

std::string_view CutUtf8(std::string_view text, size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  for (size_t back = 0; back < kMaxLength && back <= limit; ++back) {
    if (!IsWithin(text[limit - back], 0x80, 0xbf)) {
      return text.substr(0, limit - back);
    }
  }
  return text.substr(0, limit);  // no UTF-8 text
}

}  // namespace kgpu
