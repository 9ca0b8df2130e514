#include "src/functions/queue/call_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::functions {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SteadyTime kNow{std::chrono::hours(1)};

IndexedCall Due(const std::string& function, seconds after = seconds(0), size_t bytes = 1) {
  return {.function = function, .bytes = bytes, .due = kNow + after};
}

TEST(CallIndexTest, StartsWhatIsDueInOrderAndSaysWhenTheNextIs) {
  CallIndex index({});
  index.Add(1, Due("a", seconds(5)));
  index.Add(2, Due("a"));
  index.Add(3, Due("a"));
  EXPECT_EQ(index.StartNext(kNow), 2);
  EXPECT_EQ(index.StartNext(kNow), 3);
  EXPECT_EQ(index.StartNext(kNow), std::nullopt);
  EXPECT_EQ(index.NextDue(), kNow + seconds(5));
  EXPECT_EQ(index.StartNext(kNow + seconds(5)), 1);
  EXPECT_EQ(index.NextDue(), std::nullopt);
}

TEST(CallIndexTest, FunctionsTakeTurns) {
  CallIndex index({});
  for (int64_t number = 1; number <= 3; ++number) {
    index.Add(number, Due("a"));
  }
  index.Add(4, Due("b"));
  index.Add(5, Due("c"));
  std::vector<int64_t> started;
  while (const auto number = index.StartNext(kNow)) {
    started.push_back(*number);
  }
  EXPECT_THAT(started, ElementsAre(1, 4, 5, 2, 3));
}

TEST(CallIndexTest, AFunctionThatIsStuckDoesNotStopOthers) {
  CallIndex index({.running = 3, .running_of_function = 2});
  for (int64_t number = 1; number <= 5; ++number) {
    index.Add(number, Due("a"));
  }
  EXPECT_EQ(index.StartNext(kNow), 1);
  EXPECT_EQ(index.StartNext(kNow), 2);
  EXPECT_EQ(index.StartNext(kNow), std::nullopt);
  EXPECT_EQ(index.NextDue(), std::nullopt) << "time alone changes nothing";
  index.Add(6, Due("b"));
  index.Add(7, Due("b"));
  EXPECT_EQ(index.StartNext(kNow), 6);
  EXPECT_EQ(index.StartNext(kNow), std::nullopt) << "three run";
  index.Remove(1);
  EXPECT_EQ(index.StartNext(kNow), 3) << "its turn";
}

TEST(CallIndexTest, BytesOfRunningCallsAreBoundedButOneMayAlwaysRun) {
  CallIndex index({.running_bytes = 10});
  index.Add(1, Due("a", seconds(0), 100));
  index.Add(2, Due("a", seconds(0), 5));
  EXPECT_EQ(index.StartNext(kNow), 1);
  EXPECT_EQ(index.StartNext(kNow), std::nullopt);
  index.Remove(1);
  EXPECT_EQ(index.StartNext(kNow), 2);
  EXPECT_EQ(index.live_bytes(), 5U);
}

TEST(CallIndexTest, TheOldestDeadCallsGo) {
  CallIndex index({.dead = 2, .dead_bytes = 100});
  for (int64_t number = 1; number <= 4; ++number) {
    index.Add(number, Due("a", seconds(0), number == 4 ? 99 : 1));
  }
  EXPECT_THAT(index.Bury(2), IsEmpty());
  EXPECT_THAT(index.Bury(3), IsEmpty());
  EXPECT_THAT(index.Bury(1), ElementsAre(1)) << "by arrival";
  EXPECT_THAT(index.Bury(4), ElementsAre(2)) << "2, 3 and 4 are three";
  EXPECT_EQ(index.dead(), 2U);
  EXPECT_EQ(index.live(), 0U);
  EXPECT_EQ(index.Find(2), nullptr);
}

TEST(CallIndexTest, CountsByFunction) {
  CallIndex index({});
  const WallTime early(seconds(1));
  const WallTime late(seconds(2));
  index.Add(1, {.function = "a", .arrived = late, .due = kNow});
  index.Add(2, {.function = "a", .arrived = early, .due = kNow + seconds(1)});
  index.Add(3, {.function = "a", .state = CallState::kDead, .arrived = WallTime()});
  ASSERT_EQ(index.StartNext(kNow), 1);
  index.CountRetry(1);
  const FunctionCounts counts = index.Counts().at("a");
  EXPECT_EQ(counts.waiting, 1U);
  EXPECT_EQ(counts.running, 1U);
  EXPECT_EQ(counts.dead, 1U);
  EXPECT_EQ(counts.retries, 1U);
  EXPECT_EQ(counts.oldest, early);
  EXPECT_THAT(index.Running(), ElementsAre(1));
  EXPECT_THAT(index.RemoveFunction("a"), ElementsAre(1, 2, 3));
  EXPECT_THAT(index.Counts(), IsEmpty());
  EXPECT_EQ(index.running(), 0U);
}

}  // namespace
}  // namespace kgpu::functions
