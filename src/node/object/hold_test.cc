#include "src/node/object/hold.h"

#include <gtest/gtest.h>

namespace kgpu::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};

TEST(HoldTest, FirstReadinessIsNotHeldBack) {
  Hold hold(HoldOptions{}, false);
  EXPECT_FALSE(hold.Look(LinkState::kWaiting, kStart));
  EXPECT_TRUE(hold.Look(LinkState::kOk, kStart + milliseconds(1)));
  EXPECT_EQ(hold.next(), std::nullopt);
}

TEST(HoldTest, RidesOutAShortLoss) {
  Hold hold(HoldOptions{}, true);
  EXPECT_TRUE(hold.Look(LinkState::kBad, kStart));
  EXPECT_EQ(hold.next(), kStart + seconds(5));
  EXPECT_TRUE(hold.Look(LinkState::kOk, kStart + seconds(4)));
  EXPECT_TRUE(hold.Look(LinkState::kBad, kStart + seconds(6)));
  EXPECT_TRUE(hold.Look(LinkState::kBad, kStart + seconds(10)));
}

TEST(HoldTest, SaysSoWhenBadLasts) {
  Hold hold(HoldOptions{}, true);
  EXPECT_TRUE(hold.Look(LinkState::kBad, kStart));
  EXPECT_FALSE(hold.Look(LinkState::kBad, kStart + seconds(5)));
}

TEST(HoldTest, GivesWaitingMoreTimeThanBad) {
  Hold hold(HoldOptions{}, true);
  EXPECT_TRUE(hold.Look(LinkState::kWaiting, kStart));
  EXPECT_TRUE(hold.Look(LinkState::kWaiting, kStart + seconds(59)));
  EXPECT_FALSE(hold.Look(LinkState::kWaiting, kStart + seconds(60)));
}

TEST(HoldTest, ChangingBetweenWaitingAndBadDoesNotStartTheGraceAgain) {
  Hold hold(HoldOptions{}, true);
  bool is_ready = true;
  for (int second = 0; second <= 60; second += 2) {
    is_ready = hold.Look(second % 4 == 0 ? LinkState::kBad : LinkState::kWaiting,
                         kStart + seconds(second));
  }
  EXPECT_FALSE(is_ready);
}

TEST(HoldTest, AfterALossAllMustBeHealthyForAWhile) {
  Hold hold(HoldOptions{}, true);
  hold.Look(LinkState::kBad, kStart);
  hold.Look(LinkState::kBad, kStart + seconds(5));
  EXPECT_FALSE(hold.Look(LinkState::kOk, kStart + seconds(6)));
  EXPECT_EQ(hold.next(), kStart + seconds(16));
  EXPECT_FALSE(hold.Look(LinkState::kBad, kStart + seconds(10)));
  EXPECT_FALSE(hold.Look(LinkState::kOk, kStart + seconds(11)));
  EXPECT_FALSE(hold.Look(LinkState::kOk, kStart + seconds(20)));
  EXPECT_TRUE(hold.Look(LinkState::kOk, kStart + seconds(21)));
}

// Each loss is followed at once by all being well; gives how often the node says it is not ready.
int LossesIn(seconds span) {
  Hold hold(HoldOptions{}, true);
  int losses = 0;
  bool was_ready = true;
  for (seconds at{0}; at < span; at += seconds(1)) {
    // Bad for ten seconds of every twenty.
    const bool is_bad = at.count() % 20 < 10;
    const bool is_ready = hold.Look(is_bad ? LinkState::kBad : LinkState::kOk, kStart + at);
    losses += was_ready && !is_ready ? 1 : 0;
    was_ready = is_ready;
  }
  return losses;
}

TEST(HoldTest, AFlappingDriverFlapsTheNodeRarely) {
  EXPECT_LE(LossesIn(std::chrono::hours(1)), 4);
}

TEST(HoldTest, ForgetsLossesOfLongAgo) {
  Hold hold(HoldOptions{}, true);
  hold.Look(LinkState::kBad, kStart);
  hold.Look(LinkState::kBad, kStart + seconds(5));
  EXPECT_TRUE(hold.Look(LinkState::kOk, kStart + std::chrono::hours(2)));
}

}  // namespace
}  // namespace kgpu::node
