// How many columns of a terminal a text takes. Pure functions over well-formed UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace kgpu::terminal {

// 0 for combining marks and invisible characters, 2 for wide ones (CJK, emoji), else 1. Source:
// UAX #11. An ambiguous width counts as 1, as terminals outside of old CJK locales have it.
size_t WidthOf(char32_t character);

size_t TextWidth(std::string_view text);

// The longest prefix that takes at most `width` columns.
std::string_view CutToWidth(std::string_view text, size_t width);

}  // namespace kgpu::terminal
