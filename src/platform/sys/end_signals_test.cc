#include "src/platform/sys/end_signals.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>

namespace kgpu::sys {
namespace {

bool IsReadable(int fd) {
  pollfd end = {fd, POLLIN, 0};
  return poll(&end, 1, 0) == 1;
}

TEST(EndSignalsTest, HoldsThemBackUntilItIsGone) {
  EXPECT_EXIT(
      {
        {
          const EndSignals outer;
          const EndSignals inner;
          const bool was_readable = IsReadable(inner.fd());
          (void)raise(SIGTERM);
          if (was_readable || !IsReadable(inner.fd()) || !IsReadable(outer.fd())) {
            std::_Exit(1);
          }
        }
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
}

TEST(EndSignalsTest, LeavesAnIgnoredSignalIgnored) {
  EXPECT_EXIT(
      {
        (void)std::signal(SIGHUP, SIG_IGN);
        const EndSignals signals;
        (void)raise(SIGHUP);
        std::_Exit(IsReadable(signals.fd()) ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kgpu::sys
