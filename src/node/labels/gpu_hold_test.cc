#include "src/node/labels/gpu_hold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::labels {
namespace {

using device::DriverState;
using ::testing::Eq;
using ::testing::Optional;

NodeClaims Claims(const std::string& count) {
  return {.labels = {{"nvidia.com/gpu.count", count}}};
}

const NodeClaims kPresent{.labels = {{"nvidia.com/gpu.present", "true"}}};

class GpuHoldTest : public ::testing::Test {
 protected:
  std::optional<NodeClaims> Ready(const std::string& count) {
    return hold_.Update(DriverState::kReady, true, Claims(count), now_);
  }
  std::optional<NodeClaims> Silent(bool has_gpus = true) {
    return hold_.Update(DriverState::kNotLoaded, has_gpus, kPresent, now_);
  }

  GpuHold hold_;
  SteadyTime now_{std::chrono::hours(1)};
};

TEST_F(GpuHoldTest, ADriverThatAnswersIsTaken) {
  EXPECT_THAT(Ready("8"), Optional(Eq(Claims("8"))));
  EXPECT_THAT(Ready("7"), Optional(Eq(Claims("7"))));
  EXPECT_EQ(hold_.next(), std::nullopt);
}

TEST_F(GpuHoldTest, WhatItSaidStandsWhileItIsSilent) {
  Ready("8");
  EXPECT_THAT(Silent(), Optional(Eq(Claims("8"))));
  const SteadyTime next = hold_.next().value_or(now_);
  now_ = next - std::chrono::seconds(1);
  EXPECT_THAT(Silent(), Optional(Eq(Claims("8"))));
  now_ = next;
  EXPECT_THAT(Silent(), Optional(Eq(kPresent)));
  EXPECT_EQ(hold_.next(), std::nullopt) << "there is nothing more to wait for";
}

TEST_F(GpuHoldTest, AShortAnswerBeginsThePatienceAgain) {
  Ready("8");
  Silent();
  now_ += std::chrono::minutes(14);
  Ready("8");
  Silent();
  now_ += std::chrono::minutes(14);
  EXPECT_THAT(Silent(), Optional(Eq(Claims("8"))));
}

TEST_F(GpuHoldTest, NothingIsKnownBeforeTheFirstAnswer) {
  EXPECT_EQ(Silent(), std::nullopt);
  now_ = hold_.next().value_or(now_);
  EXPECT_THAT(Silent(), Optional(Eq(kPresent)));
}

TEST_F(GpuHoldTest, WhatTheNodeCarriesStandsBeforeTheFirstAnswer) {
  hold_.SetRemembered(Claims("8"));
  EXPECT_THAT(Silent(), Optional(Eq(Claims("8"))));
  EXPECT_THAT(Ready("4"), Optional(Eq(Claims("4"))));
  EXPECT_THAT(Silent(), Optional(Eq(Claims("4"))));
}

TEST_F(GpuHoldTest, AHostWithoutCardsIsNotWaitedFor) {
  EXPECT_THAT(hold_.Update(DriverState::kMissing, false, {}, now_), Optional(Eq(NodeClaims())));
  EXPECT_EQ(hold_.next(), std::nullopt);
}

TEST_F(GpuHoldTest, ACardThatIsTakenOutTakesItsLabelsAlong) {
  Ready("1");
  EXPECT_THAT(hold_.Update(DriverState::kNotLoaded, false, {}, now_), Optional(Eq(NodeClaims())));
}

TEST_F(GpuHoldTest, ABusThatWasNotLookedAtSaysNothing) {
  EXPECT_EQ(hold_.Update(DriverState::kStarting, false, {}, now_), std::nullopt);
}

}  // namespace
}  // namespace kgpu::labels
