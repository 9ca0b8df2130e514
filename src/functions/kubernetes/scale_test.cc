#include "src/functions/kubernetes/scale.h"

#include <gtest/gtest.h>

#include <chrono>

namespace kgpu::functions {
namespace {

using std::chrono::seconds;

constexpr seconds kIdle{300};

SteadyTime At(int64_t second) {
  return SteadyTime(seconds(second));
}

ScaleFacts Facts(int64_t calls, int64_t replicas) {
  return {.scaling = {.min_replicas = 0, .max_replicas = 5, .idle = kIdle},
          .calls = calls,
          .replicas = replicas,
          .may_lower = true};
}

TEST(ScaleWindowTest, RemembersTheMostWithinATime) {
  ScaleWindow window;
  window.Set(3, At(0));
  window.Set(1, At(10));
  window.Set(2, At(20));
  window.Set(0, At(30));
  EXPECT_EQ(window.Most(At(309), kIdle), 3);
  EXPECT_EQ(window.NextFall(kIdle), At(310));
  EXPECT_EQ(window.Most(At(310), kIdle), 2) << "1 was less than the 2 that came after it";
  EXPECT_EQ(window.Most(At(330), kIdle), 0);
  EXPECT_FALSE(window.NextFall(kIdle).has_value());
}

TEST(ScaleWindowTest, HoldsNoMoreThanItsValues) {
  ScaleWindow window;
  for (int i = 0; i < 100'000; ++i) {
    window.Set(i % 2, At(i));
  }
  window.Set(0, At(100'000));
  EXPECT_EQ(window.Most(At(100'000), kIdle), 1);
  EXPECT_EQ(window.NextFall(kIdle), At(100'300));
}

TEST(DecideScaleTest, StartsWhatCallsNeed) {
  ScaleWindow window;
  EXPECT_EQ(DecideScale(Facts(1, 0), window, At(0)).replicas, 1);
  EXPECT_EQ(DecideScale(Facts(4, 1), window, At(0)).replicas, 4);
  EXPECT_EQ(DecideScale(Facts(400, 1), window, At(0)).replicas, 5) << "at most its maximum";
  ScaleFacts shared = Facts(9, 1);
  shared.concurrency = 4;
  EXPECT_EQ(DecideScale(shared, window, At(0)).replicas, 3);
}

TEST(DecideScaleTest, GoesToZeroAfterTheIdleTime) {
  ScaleWindow window;
  EXPECT_FALSE(DecideScale(Facts(1, 1), window, At(0)).replicas.has_value());
  const ScaleVerdict idle = DecideScale(Facts(0, 1), window, At(10));
  EXPECT_FALSE(idle.replicas.has_value());
  ASSERT_TRUE(idle.next.has_value());
  EXPECT_EQ(*idle.next, At(310));
  EXPECT_FALSE(DecideScale(Facts(0, 1), window, At(309)).replicas.has_value());
  EXPECT_EQ(DecideScale(Facts(0, 1), window, At(310)).replicas, 0);
}

TEST(DecideScaleTest, KeepsTheMinimum) {
  ScaleWindow window;
  ScaleFacts facts = Facts(0, 0);
  facts.scaling.min_replicas = 2;
  EXPECT_EQ(DecideScale(facts, window, At(0)).replicas, 2);
  facts.replicas = 2;
  EXPECT_FALSE(DecideScale(facts, window, At(10'000)).replicas.has_value());
}

TEST(DecideScaleTest, TakesNoPodBackThatWaitsForItsNode) {
  ScaleWindow window;
  ScaleFacts facts = Facts(1, 1);
  facts.has_pod_without_node = true;
  (void)DecideScale(facts, window, At(0));
  facts.calls = 0;
  EXPECT_FALSE(DecideScale(facts, window, At(100'000)).replicas.has_value());
  facts.has_pod_without_node = false;
  EXPECT_EQ(DecideScale(facts, window, At(200'000)).replicas, 0);
}

TEST(DecideScaleTest, OnlyOneGatewayDecidesOnFewer) {
  ScaleWindow window;
  ScaleFacts facts = Facts(0, 3);
  facts.may_lower = false;
  EXPECT_FALSE(DecideScale(facts, window, At(10'000)).replicas.has_value());
  facts.calls = 4;
  EXPECT_EQ(DecideScale(facts, window, At(10'000)).replicas, 4) << "each may start one";
}

TEST(DecideScaleTest, FollowsALowerMaximumAtOnce) {
  ScaleWindow window;
  (void)DecideScale(Facts(5, 5), window, At(0));
  ScaleFacts facts = Facts(5, 5);
  facts.scaling.max_replicas = 2;
  EXPECT_EQ(DecideScale(facts, window, At(1)).replicas, 2);
}

TEST(DecideScaleTest, EndsReplicasOverTheQuotaOnceTheirCallsHaveEnded) {
  ScaleWindow window;
  ScaleFacts facts = Facts(1, 1);
  facts.scaling.min_replicas = 1;
  facts.is_over_quota = true;
  EXPECT_FALSE(DecideScale(facts, window, At(0)).replicas.has_value());
  facts.calls = 0;
  EXPECT_EQ(DecideScale(facts, window, At(1)).replicas, 0);
}

}  // namespace
}  // namespace kgpu::functions
