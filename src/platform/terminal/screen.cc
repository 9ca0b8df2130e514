#include "src/platform/terminal/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::terminal {
namespace {

Status SetModes(int fd, const termios& modes) {
  while (tcsetattr(fd, TCSANOW, &modes) != 0) {
    if (errno != EINTR) {
      return ErrnoStatus(errno, "set the modes of the terminal");
    }
  }
  return OkStatus();
}

}  // namespace

Size SizeOf(int fd) {
  struct winsize size = {};
  if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.columns = size.ws_col, .rows = size.ws_row};
}

StatusOr<std::unique_ptr<Screen>> Screen::Open(int input, int output) {
  termios before = {};
  if (tcgetattr(input, &before) != 0) {
    return ErrnoStatus(errno, "read the modes of the terminal");
  }
  auto screen = std::unique_ptr<Screen>(new Screen(input, output, before));
  RETURN_IF_ERROR(screen->Enter());
  return screen;
}

Screen::~Screen() {
  Leave();
}

Status Screen::Enter() {
  termios modes = before_;
  modes.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  modes.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL | INLCR | IGNCR);
  modes.c_cc[VMIN] = 1;
  modes.c_cc[VTIME] = 0;
  is_entered_ = true;
  RETURN_IF_ERROR(SetModes(input_, modes));
  return Write(kEnterScreen);
}

void Screen::Leave() {
  if (!is_entered_) {
    return;
  }
  is_entered_ = false;
  Write(kLeaveScreen).IgnoreError();
  SetModes(input_, before_).IgnoreError();
}

Status Screen::Write(std::string_view bytes) const {
  return Annotate(sys::WriteAll(output_, bytes), "terminal");
}

}  // namespace kgpu::terminal
