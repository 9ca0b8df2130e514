// Shortens UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace kgpu {

// The longest prefix of `text` of at most `limit` bytes that does not split a character.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace kgpu
