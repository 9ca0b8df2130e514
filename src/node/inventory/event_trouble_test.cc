#include "src/node/inventory/event_trouble.h"

#include <gtest/gtest.h>

namespace kgpu::inventory {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirst{20};
constexpr milliseconds kLast{30'000};

TEST(EventTroubleTest, TheFirstFailureIsLookedIntoAtOnce) {
  EventTrouble trouble(kFirst, kLast);
  EXPECT_EQ(trouble.Note(SteadyTime()), kFirst);
  EXPECT_EQ(trouble.Note(SteadyTime()), 2 * kFirst);
}

// As the inventory looks: a look that is planned stands, the next failure plans the next one.
TEST(EventTroubleTest, AnHourOfFailuresIsWorthTwoLooksAMinute) {
  EventTrouble trouble(kFirst, kLast);
  int looks = 0;
  SteadyTime look{};
  for (SteadyTime now{}; now < SteadyTime(std::chrono::hours(1)); now += seconds(2)) {
    const SteadyTime due = now + trouble.Note(now);
    if (look <= now) {
      look = due;
      ++looks;
    }
  }
  EXPECT_GT(looks, 60);
  EXPECT_LT(looks, 150);
}

TEST(EventTroubleTest, AfterAQuietTimeOrAnEventAFailureIsReportedAgain) {
  EventTrouble trouble(kFirst, kLast);
  trouble.Note(SteadyTime());
  trouble.Note(SteadyTime());
  EXPECT_EQ(trouble.Note(SteadyTime() + 2 * kLast + milliseconds(1)), kFirst);
  trouble.Note(SteadyTime() + 2 * kLast + milliseconds(2));
  trouble.Clear();
  EXPECT_EQ(trouble.Note(SteadyTime() + 2 * kLast + milliseconds(3)), kFirst);
}

}  // namespace
}  // namespace kgpu::inventory
