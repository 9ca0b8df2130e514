// Checks whether bytes are UTF-8 text.
#pragma once

#include <optional>
#include <string_view>

namespace kgpu::doc {

// Offset of the first byte that is not part of well-formed UTF-8; nothing if there is none. Source:
// Unicode 15, table 3-7 (no overlong forms, no surrogates, nothing above U+10FFFF).
std::optional<size_t> FindInvalidUtf8(std::string_view text);

}  // namespace kgpu::doc
