// Which bytes bring a terminal from one screen to the next. Pure.
#pragma once

#include <string>
#include <vector>

#include "src/platform/terminal/line.h"

namespace kgpu::terminal {

struct Size {
  size_t columns = 80;
  size_t rows = 24;
  bool operator==(const Size&) const = default;
};

class Painter {
 public:
  explicit Painter(const Look& look) : look_(look) {}

  // Only lines that differ from those of the last call are sent; all of them after Forget or in
  // another size. `lines` are no wider than the screen, and those below its end are left out.
  std::string Paint(const std::vector<Line>& lines, const Size& size);
  // The terminal may show anything now.
  void Forget() { is_known_ = false; }

 private:
  Look look_;
  Size size_{};
  std::vector<std::string> shown_;
  bool is_known_ = false;
};

// Begins and ends the use of the whole screen: the alternate one, without a cursor and without line
// breaks at the right edge. Source: xterm's control sequences, DECSET 1049, 25 and 7.
inline constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
inline constexpr char kLeaveScreen[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace kgpu::terminal
