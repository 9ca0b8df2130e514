#include "src/platform/doc/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace kgpu::doc {
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

// Length of the well-formed sequence at the beginning of `text`, which must not be empty; 0 if
// there is none.
size_t SequenceLength(std::string_view text) {
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
