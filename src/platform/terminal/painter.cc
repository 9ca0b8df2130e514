#include "src/platform/terminal/painter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace kgpu::terminal {

std::string Painter::Paint(const std::vector<Line>& lines, const Size& size) {
  std::string bytes;
  if (!is_known_ || size != size_) {
    bytes = "\x1b[0m\x1b[2J";
    shown_.assign(size.rows, "");
    size_ = size;
    is_known_ = true;
  }
  for (size_t row = 0; row < size.rows; ++row) {
    std::string text = row < lines.size() ? Render(lines[row], look_) : std::string();
    if (text != shown_[row]) {
      // Erased before: after a character in the last column, that one would be erased.
      fmt::format_to(std::back_inserter(bytes), "\x1b[{};1H\x1b[K{}", row + 1, text);
      shown_[row] = std::move(text);
    }
  }
  return bytes;
}

}  // namespace kgpu::terminal
