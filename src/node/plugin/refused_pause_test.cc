#include "src/node/plugin/refused_pause.h"

#include <gtest/gtest.h>

namespace kgpu::plugin {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Attempts from the first one until `end`.
int Attempts(nanoseconds end) {
  int attempts = 1;
  for (nanoseconds now{}; (now += RefusedPause(now)) < end; ++attempts) {
  }
  return attempts;
}

TEST(RefusedPauseTest, MeetsAKubeletThatIsAboutToListen) {
  EXPECT_EQ(RefusedPause({}), microseconds(500));
  EXPECT_EQ(RefusedPause(milliseconds(30)), milliseconds(3));
  EXPECT_EQ(RefusedPause(seconds(2)), milliseconds(200));
  EXPECT_EQ(RefusedPause(std::chrono::hours(1)), seconds(1));
}

// It is there for each resource: ten attempts a second of each were most of what an agent without a
// kubelet did.
TEST(RefusedPauseTest, ADeadSocketIsTriedLessAndLessOften) {
  EXPECT_LE(Attempts(seconds(2)), 80);
  EXPECT_LE(Attempts(seconds(30)) - Attempts(seconds(2)), 40);
  EXPECT_LE(Attempts(seconds(60)) - Attempts(seconds(30)), 31);
}

}  // namespace
}  // namespace kgpu::plugin
