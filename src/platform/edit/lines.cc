#include "src/platform/edit/lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/platform/base/strings.h"

namespace kgpu::edit {

size_t TextStart(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

std::string_view LineEndOf(std::string_view text) {
  const size_t end = text.find('\n');
  return end != std::string_view::npos && end > 0 && text[end - 1] == '\r' ? "\r\n" : "\n";
}

size_t LineStart(std::string_view text, size_t at) {
  const size_t end = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return end == std::string_view::npos ? TextStart(text) : end + 1;
}

size_t NextLine(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == std::string_view::npos ? text.size() : end + 1;
}

std::string_view Indent(std::string_view text, size_t at) {
  const size_t start = LineStart(text, at);
  const size_t end = std::min(text.find_first_not_of(" \t", start), text.size());
  return text.substr(start, end - start);
}

bool IsFirstInLine(std::string_view text, size_t at) {
  const size_t start = LineStart(text, at);
  return start <= at && IsBlank(text.substr(start, at - start));
}

bool IsBlank(std::string_view text) {
  return Trim(text).empty();
}

std::string PlaceText(std::string_view file, std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  const size_t start = LineStart(text, at);
  return fmt::format("{}:{}:{}", file, std::ranges::count(before, '\n') + 1,
                     at < start ? 1 : at - start + 1);
}

}  // namespace kgpu::edit
