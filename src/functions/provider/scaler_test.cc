#include "src/functions/provider/scaler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SteadyTime kNow{minutes(60)};

ScaledReplica Busy(int64_t in_flight) {
  return {.is_running = true, .in_flight = in_flight};
}
ScaledReplica IdleFor(seconds time) {
  return {.is_running = true, .idle_since = kNow - time};
}

ScaleInput Input(int64_t min, int64_t max, int64_t waiting, std::vector<ScaledReplica> replicas) {
  return {.scaling = {.min_replicas = min, .max_replicas = max, .idle = minutes(5)},
          .waiting = waiting,
          .replicas = std::move(replicas)};
}

TEST(ScalerTest, StartsTheMinimumWithoutACall) {
  EXPECT_EQ(Scale(Input(2, 4, 0, {}), kNow).start, 2);
  EXPECT_EQ(Scale(Input(0, 4, 0, {}), kNow), ScaleDecision{});
}

TEST(ScalerTest, StartsAsManyAsTheCallsNeedUpToTheMaximum) {
  EXPECT_EQ(Scale(Input(0, 4, 1, {}), kNow).start, 1);
  EXPECT_EQ(Scale(Input(0, 4, 3, {Busy(1)}), kNow).start, 3);
  EXPECT_EQ(Scale(Input(0, 4, 100, {Busy(1)}), kNow).start, 3);
  ScaleInput shared = Input(0, 4, 5, {});
  shared.concurrency = 4;
  EXPECT_EQ(Scale(shared, kNow).start, 2);
}

TEST(ScalerTest, DoesNotStartASecondReplicaForACallThatOneIsStartingFor) {
  EXPECT_EQ(Scale(Input(0, 4, 1, {ScaledReplica{}}), kNow), ScaleDecision{});
}

TEST(ScalerTest, WaitsAfterFailures) {
  ScaleInput input = Input(1, 1, 0, {});
  input.not_before = kNow + seconds(2);
  const ScaleDecision decision = Scale(input, kNow);
  EXPECT_EQ(decision.start, 0);
  EXPECT_EQ(decision.next, kNow + seconds(2));
  EXPECT_EQ(Scale(input, kNow + seconds(2)).start, 1);
}

TEST(ScalerTest, StopsWhatWasIdleForLongEnoughButNeverBelowTheMinimum) {
  const std::vector<ScaledReplica> idle = {IdleFor(minutes(9)), IdleFor(minutes(6)),
                                           IdleFor(minutes(1))};
  const ScaleDecision to_one = Scale(Input(1, 4, 0, idle), kNow);
  EXPECT_THAT(to_one.stop, ElementsAre(1, 0));
  EXPECT_EQ(to_one.next, kNow + minutes(4));
  EXPECT_THAT(Scale(Input(2, 4, 0, idle), kNow).stop, ElementsAre(1));
  EXPECT_THAT(Scale(Input(3, 4, 0, idle), kNow).stop, IsEmpty());
}

TEST(ScalerTest, KeepsIdleReplicasThatWaitingCallsNeed) {
  EXPECT_THAT(Scale(Input(0, 4, 1, {IdleFor(minutes(9))}), kNow).stop, IsEmpty());
}

TEST(ScalerTest, StopsBusyReplicasOverTheMaximum) {
  EXPECT_THAT(Scale(Input(0, 1, 0, {Busy(1), Busy(1)}), kNow).stop, ElementsAre(1));
}

TEST(ScalerTest, RestartsAreDelayedUpToFiveMinutes) {
  EXPECT_EQ(RestartDelay(0), milliseconds(0));
  EXPECT_EQ(RestartDelay(1), milliseconds(0));
  EXPECT_EQ(RestartDelay(2), seconds(1));
  EXPECT_EQ(RestartDelay(3), seconds(2));
  EXPECT_EQ(RestartDelay(9), seconds(128));
  EXPECT_EQ(RestartDelay(11), minutes(5));
  EXPECT_EQ(RestartDelay(1'000'000), minutes(5));
}

}  // namespace
}  // namespace kgpu::functions
