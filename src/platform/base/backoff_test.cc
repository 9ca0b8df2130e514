#include "src/platform/base/backoff.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr SteadyTime kStart{std::chrono::hours(1)};
constexpr BackoffOptions kOptions{.first = seconds(1), .longest = seconds(5)};

std::vector<nanoseconds> Waits(Backoff& backoff, int count) {
  std::vector<nanoseconds> waits;
  SteadyTime now = kStart;
  for (int i = 0; i < count; ++i) {
    waits.push_back(backoff.Next(now));
    now += waits.back();
  }
  return waits;
}

TEST(BackoffTest, DoublesUpToTheLongestWait) {
  Backoff backoff(kOptions);
  EXPECT_THAT(Waits(backoff, 5),
              ElementsAre(seconds(1), seconds(2), seconds(4), seconds(5), seconds(5)));
}

TEST(BackoffTest, StartsOverAfterAResetOrALongTimeWithoutFailures) {
  Backoff backoff(kOptions);
  Waits(backoff, 3);
  backoff.Reset();
  EXPECT_EQ(backoff.Next(kStart), seconds(1));
  EXPECT_EQ(backoff.Next(kStart + seconds(1)), seconds(2));
  EXPECT_EQ(backoff.Next(kStart + minutes(3)), seconds(1));
}

TEST(BackoffTest, JitterTakesATenthToAllOfAStep) {
  Random random(7);
  nanoseconds least = seconds(9);
  nanoseconds most{};
  for (int i = 0; i < 1000; ++i) {
    Backoff backoff(random, kOptions);
    const nanoseconds second = Waits(backoff, 2)[1];
    least = std::min(least, second);
    most = std::max(most, second);
  }
  EXPECT_GE(least, milliseconds(200));
  EXPECT_LT(least, milliseconds(250));
  EXPECT_GT(most, milliseconds(1900));
  EXPECT_LT(most, seconds(2));
}

TEST(BackoffTest, PausesByTheNumberOfFailuresNeverOverflow) {
  const auto pause = [](int64_t failures) {
    return DoublingPause(failures, seconds(1), seconds(300));
  };
  EXPECT_EQ(pause(-1), nanoseconds(0));
  EXPECT_EQ(pause(0), nanoseconds(0));
  EXPECT_EQ(pause(1), seconds(1));
  EXPECT_EQ(pause(4), seconds(8));
  EXPECT_EQ(pause(1'000'000'000'000), seconds(300));
  EXPECT_EQ(DoublingPause(1, seconds(9), seconds(5)), seconds(5));
}

}  // namespace
}  // namespace kgpu
