#include "src/cli/top/view.h"

#include <algorithm>

#include "src/platform/base/strings.h"

namespace kgpu::top {

bool Matches(std::string_view filter, std::string_view text) {
  const std::string lower_filter = ToLower(filter);
  const std::string lower_text = ToLower(text);
  return std::ranges::all_of(Words(lower_filter), [&](std::string_view word) {
    return lower_text.find(word) != std::string::npos;
  });
}

std::string FoldMark(bool is_expandable, bool is_open, const terminal::Look& look) {
  if (!is_expandable) {
    return "  ";
  }
  if (look.is_utf8) {
    return is_open ? "▾ " : "▸ ";
  }
  return is_open ? "- " : "+ ";
}

}  // namespace kgpu::top
