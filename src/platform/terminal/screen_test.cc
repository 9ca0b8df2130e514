#include "src/platform/terminal/screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "src/platform/base/unique_fd.h"
#include "testing/status_matchers.h"

namespace kgpu::terminal {
namespace {

// Both ends of a terminal, where the machine has some.
class ScreenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<char, 64> name{};
    const bool is_open = ours_.is_valid() && grantpt(ours_.get()) == 0 &&
                         unlockpt(ours_.get()) == 0 &&
                         ptsname_r(ours_.get(), name.data(), name.size()) == 0;
    theirs_ = UniqueFd(is_open ? open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC) : -1);
    if (!theirs_.is_valid()) {
      GTEST_SKIP() << "no terminals here";
    }
  }
  termios Modes() const {
    termios modes = {};
    EXPECT_EQ(tcgetattr(theirs_.get(), &modes), 0);
    return modes;
  }
  std::string Shown() const {
    std::string shown;
    std::array<char, 512> buffer{};
    pollfd polled{.fd = ours_.get(), .events = POLLIN, .revents = 0};
    while (poll(&polled, 1, 0) == 1 && (polled.revents & POLLIN) != 0) {
      const ssize_t got = read(ours_.get(), buffer.data(), buffer.size());
      if (got <= 0) {
        break;
      }
      shown.append(buffer.data(), static_cast<size_t>(got));
    }
    return shown;
  }

  UniqueFd ours_{posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
  UniqueFd theirs_;
};

TEST_F(ScreenTest, RestoresTheTerminal) {
  const termios before = Modes();
  {
    const auto screen = Screen::Open(theirs_.get(), theirs_.get());
    ASSERT_OK(screen);
    EXPECT_EQ(Modes().c_lflag & static_cast<tcflag_t>(ICANON | ECHO), 0U);
    EXPECT_NE(Modes().c_lflag & static_cast<tcflag_t>(ISIG), 0U);
    EXPECT_EQ(Shown(), kEnterScreen);
    (*screen)->Leave();
    EXPECT_EQ(Shown(), kLeaveScreen);
    EXPECT_EQ(Modes().c_lflag, before.c_lflag);
    EXPECT_OK((*screen)->Enter());
    EXPECT_EQ(Shown(), kEnterScreen);
  }
  EXPECT_EQ(Shown(), kLeaveScreen);
  EXPECT_EQ(Modes().c_lflag, before.c_lflag);
  EXPECT_EQ(Modes().c_iflag, before.c_iflag);
}

TEST_F(ScreenTest, HasTheTerminalsSize) {
  const struct winsize size = {.ws_row = 50, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(ours_.get(), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(SizeOf(theirs_.get()), (Size{.columns = 200, .rows = 50}));
  EXPECT_EQ(SizeOf(-1), (Size{.columns = 80, .rows = 24}));
}

TEST(ScreenOfNoTerminalTest, IsAnError) {
  const UniqueFd file(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(Screen::Open(file.get(), file.get()).ok());
}

}  // namespace
}  // namespace kgpu::terminal
