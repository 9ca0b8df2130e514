// Text of UTF-8 that must become shorter.
#pragma once

#include <cstddef>
#include <string_view>

namespace kgpu {

// The longest beginning of `text` within `limit` bytes that does not end within a character.
std::string_view CutUtf8(std::string_view text, size_t limit);

}  // namespace kgpu
