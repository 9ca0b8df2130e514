// The terminal of a person, used as a whole: keys come in at once, and the screen is ours.
#pragma once

#include <termios.h>

#include <memory>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/terminal/painter.h"

namespace kgpu::terminal {

// Columns and rows of the terminal at `fd`; 80 × 24 where it does not say. Source:
// ioctl_tty(2), TIOCGWINSZ.
Size SizeOf(int fd);

class Screen {
 public:
  // `input` and `output` are terminals and outlive it. Enters. Errors: those of tcgetattr(3).
  static StatusOr<std::unique_ptr<Screen>> Open(int input, int output);
  // Leaves.
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Single keys instead of lines, no echo; Ctrl-C and Ctrl-Z stay signals. Again after a stop, in
  // which others may have changed the terminal. Errors: those of tcsetattr(3) and write(2).
  Status Enter();
  // As it was before Open. Errors are ignored: the terminal may be gone.
  void Leave();

  Status Write(std::string_view bytes) const;
  Size size() const { return SizeOf(output_); }

 private:
  Screen(int input, int output, const termios& before)
      : input_(input), output_(output), before_(before) {}

  int input_;
  int output_;
  termios before_;
  bool is_entered_ = false;
};

}  // namespace kgpu::terminal
