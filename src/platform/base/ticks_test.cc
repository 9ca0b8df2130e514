#include "src/platform/base/ticks.h"

#include <gtest/gtest.h>

#include "testing/fake_clock.h"

namespace kgpu {
namespace {

using std::chrono::milliseconds;

TEST(TicksTest, FallTogetherWheneverTheyAreAskedFor) {
  FakeClock clock;
  const SteadyTime first = clock.Now() + UntilNextTick(clock, milliseconds(1000));
  clock.Advance(first - clock.Now());
  EXPECT_EQ(UntilNextTick(clock, milliseconds(1000)), milliseconds(1000));
  clock.Advance(milliseconds(1));
  EXPECT_EQ(UntilNextTick(clock, milliseconds(1000)), milliseconds(999));
  clock.Advance(milliseconds(998));
  EXPECT_EQ(UntilNextTick(clock, milliseconds(1000)), milliseconds(1));
}

TEST(TicksTest, LongerPeriodsFallOnShorterOnes) {
  FakeClock clock;
  clock.Advance(milliseconds(123));
  clock.Advance(UntilNextTick(clock, milliseconds(30'000)));
  EXPECT_EQ(UntilNextTick(clock, milliseconds(1000)), milliseconds(1000));
}

}  // namespace
}  // namespace kgpu
