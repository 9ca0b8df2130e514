#include "src/platform/edit/template_text.h"

#include <algorithm>

#include "src/platform/edit/lines.h"

namespace kgpu::edit {
namespace {

// `value = {{ … }}` in the line [begin, end).
void CoverValue(std::string& text, size_t begin, size_t end) {
  const std::string_view line = std::string_view(text).substr(begin, end - begin);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return;
  }
  const size_t open = line.find_first_not_of(" \t", equals + 1);
  const size_t close = line.rfind("}}");
  if (open == std::string_view::npos || close == std::string_view::npos || close <= open ||
      line.substr(open, 2) != "{{" || line.substr(open, close - open).find('\'') != line.npos) {
    return;
  }
  text[begin + open] = '\'';
  text[begin + close + 1] = '\'';
}

}  // namespace

std::string CoverActions(std::string_view text) {
  std::string out(text);
  for (size_t at = TextStart(text); at < text.size();) {
    const size_t end = NextLine(text, at);
    const size_t start = text.find_first_not_of(" \t", at);
    if (text.substr(std::min(start, text.size()), 2) == "{{") {
      out[start] = '#';
    } else {
      CoverValue(out, at, end);
    }
    at = end;
  }
  return out;
}

}  // namespace kgpu::edit
