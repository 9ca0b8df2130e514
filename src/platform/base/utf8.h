// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace kgpu {

// Bytes of the well-formed character at the beginning of `text`, which must not be empty; 0 if
// there is none. Source: Unicode 15, table 3-7 (no overlong forms, no surrogates, at most
// U+10FFFF).
size_t Utf8Length(std::string_view text);

// Characters of well-formed text.
size_t CountCharacters(std::string_view text);

// Offset of the first byte that is not part of a well-formed character; nothing if there is none.
std::optional<size_t> FindInvalidUtf8(std::string_view text);

// The longest prefix of `text` of at most `limit` bytes that does not split a character; of text
// that is not UTF-8, `limit` bytes.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace kgpu
