// The rules themselves: a soak run whose checks see nothing finds nothing.
#include "tests/soak/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/soak/seed.h"

namespace kgpu::soak {
namespace {

using ::testing::HasSubstr;

const Unit kWhole{.gpu = "GPU-1"};
const Unit kSlot{.gpu = "GPU-1", .kind = "time", .part = "GPU-1::0"};
const Unit kNext{.gpu = "GPU-1", .kind = "time", .part = "GPU-1::1"};
const Unit kSlice{.gpu = "GPU-1", .kind = "memory", .part = "GPU-1::2"};

TEST(HoldersTest, AWholeGpuExcludesAllElse) {
  EXPECT_THAT(Holders().Check({{"a", {kWhole}}, {"b", {kWhole}}}), HasSubstr("is held by a"));
  EXPECT_THAT(Holders().Check({{"a", {kWhole}}, {"b", {kSlot}}}), HasSubstr("GPU-1::0"));
  EXPECT_EQ(Holders().Check({{"a", {kWhole}}, {"b", {{.gpu = "GPU-2"}}}}), "");
}

TEST(HoldersTest, PartsAreOfOneKindAndEachIsHeldOnce) {
  EXPECT_EQ(Holders().Check({{"a", {kSlot}}, {"b", {kNext}}}), "");
  EXPECT_THAT(Holders().Check({{"a", {kSlot}}, {"b", {kSlot}}}), HasSubstr("and GPU-1::0"));
  EXPECT_THAT(Holders().Check({{"a", {kSlot}}, {"b", {kSlice}}}), HasSubstr("memory"));
}

TEST(HoldersTest, AHolderKeepsItsDevicesUntilItEnds) {
  Holders holders;
  EXPECT_EQ(holders.Check({{"a", {kSlot}}}), "");
  EXPECT_THAT(holders.Check({{"a", {kNext}}}), HasSubstr("a held GPU-1::0"));
  EXPECT_THAT(holders.Check({{"a", {}}}), HasSubstr("now holds"));
  EXPECT_EQ(holders.Check({}), "");
  EXPECT_EQ(holders.Check({{"a", {kNext}}}), "") << "another one of that name";
  EXPECT_EQ(holders.seen(), 2U);
}

TEST(StoryTest, AFailureSaysHowToRunItAgain) {
  Story story("soak_test", 7);
  for (size_t i = 0; i < Story::kKept + 2; ++i) {
    story.Add("lose 1");
  }
  const std::string text = story.Failure("nothing works");
  EXPECT_THAT(text, HasSubstr("seed 7, step 402: nothing works"));
  EXPECT_THAT(text, HasSubstr("KGPU_SOAK_SEED=7 soak_test"));
  EXPECT_THAT(text, HasSubstr("the last 400 actions:\n     3 lose 1\n"));
}

TEST(DiceTest, TheSameSeedMakesTheSameChoices) {
  Dice dice(1);
  EXPECT_EQ(dice.Below(1'000'000), 95'845U) << "mt19937's first number is 1791095845";
}

}  // namespace
}  // namespace kgpu::soak
