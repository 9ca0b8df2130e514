#include "src/preload/system.h"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <csignal>

namespace kgpu::preload {
namespace {

// Of a profiler, a thousand times a second.
TEST(SystemTest, SignalsDoNotCutASleepShort) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGALRM, &action, &before), 0);
  const itimerval often{.it_interval = {0, 1'000}, .it_value = {0, 1'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  constexpr uint64_t kSleep = 30'000'000;
  const uint64_t begun = Nanoseconds();
  SleepNanoseconds(kSleep);
  EXPECT_GE(Nanoseconds() - begun, kSleep);
  const itimerval never{};
  EXPECT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
  EXPECT_EQ(sigaction(SIGALRM, &before, nullptr), 0);
}

}  // namespace
}  // namespace kgpu::preload
