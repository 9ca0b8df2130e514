// Lines, line ends and indentation of an edited text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace kgpu::edit {

// Bytes [begin, end) of a text.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool operator==(const Span&) const = default;
};

inline std::string_view Slice(std::string_view text, Span span) {
  return text.substr(span.begin, span.end - span.begin);
}

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Where the text starts, after any byte order mark.
size_t TextStart(std::string_view text);

// "\r\n" if the first line of the text ends with it, else "\n".
std::string_view LineEndOf(std::string_view text);

// The line that contains byte `at`: its first byte, and the byte after its line end.
size_t LineStart(std::string_view text, size_t at);
size_t NextLine(std::string_view text, size_t at);

// The blanks at the start of the line that contains byte `at`.
std::string_view Indent(std::string_view text, size_t at);

// Whether only blanks precede byte `at` in its line.
bool IsFirstInLine(std::string_view text, size_t at);

bool IsBlank(std::string_view text);

// "file:line:column", counted from 1, in bytes.
std::string PlaceText(std::string_view file, std::string_view text, size_t at);

}  // namespace kgpu::edit
