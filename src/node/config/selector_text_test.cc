#include "src/node/config/selector_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Property;

TEST(SelectorTextTest, MemoryTakesEveryComparison) {
  EXPECT_THAT(ParseMemoryBound(">= 40Gi"),
              IsOkAndHolds(MemoryBound{Comparison::kGreaterOrEqual, GibiBytes(40)}));
  EXPECT_THAT(ParseMemoryBound("<24Gi"),
              IsOkAndHolds(MemoryBound{Comparison::kLess, GibiBytes(24)}));
  EXPECT_THAT(ParseMemoryBound("<= 1Ti"),
              IsOkAndHolds(MemoryBound{Comparison::kLessOrEqual, GibiBytes(1024)}));
  EXPECT_THAT(ParseMemoryBound(" = 80Gi "),
              IsOkAndHolds(MemoryBound{Comparison::kEqual, GibiBytes(80)}));
  EXPECT_THAT(ParseMemoryBound("> 81559Mi"),
              IsOkAndHolds(MemoryBound{Comparison::kGreater, MebiBytes(81559)}));
}

TEST(SelectorTextTest, MemoryNamesTheFix) {
  EXPECT_THAT(ParseMemoryBound("40Gi"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\">= 40Gi\", in quotes")));
  EXPECT_THAT(ParseMemoryBound(">= 40GB"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Ki, Mi, Gi")));
}

TEST(SelectorTextTest, ComputeTakesAMajorAlone) {
  EXPECT_THAT(ParseComputeBound(">= 8.0"),
              IsOkAndHolds(ComputeBound{Comparison::kGreaterOrEqual, {8, 0}}));
  EXPECT_THAT(ParseComputeBound("= 9"), IsOkAndHolds(ComputeBound{Comparison::kEqual, {9, 0}}));
  for (const char* bad : {"8.0", ">= 8.", ">= 8.10", ">= x", ">=", "", ">= -1", ">= 100"}) {
    EXPECT_THAT(ParseComputeBound(bad), StatusIs(StatusCode::kInvalidArgument, HasSubstr(">= 8.0")))
        << bad;
  }
}

TEST(SelectorTextTest, NumbersTakeRangesAndLists) {
  EXPECT_THAT(ParseNumbers("0-3,6"), IsOkAndHolds(ElementsAre(0, 1, 2, 3, 6)));
  EXPECT_THAT(ParseNumbers(" 7 , 2 - 3"), IsOkAndHolds(ElementsAre(7, 2, 3)));
  for (const char* bad : {"", "-", "1-", "-1", "a", "1,,2", "65536", "0-65536", "0-65535,0"}) {
    EXPECT_THAT(ParseNumbers(bad), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
  EXPECT_THAT(ParseNumbers("3-1"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("write 1-3")));
}

TEST(SelectorTextTest, NumbersAreWrittenAsRangesWhereThatIsShorter) {
  EXPECT_THAT(NumberWords({0, 1, 2, 3, 6, 7, 9, 8}), ElementsAre("0-3", "6", "7", "9", "8"));
  EXPECT_THAT(NumberWords({}), ElementsAre());
}

TEST(SelectorTextTest, AModelThatTheDriverNamesIsRefusedWithItsId) {
  EXPECT_THAT(ParseModel("A100-*"), IsOkAndHolds("A100-*"));
  EXPECT_THAT(ParseModel("NVIDIA A100-SXM4-80GB"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("use \"A100-SXM4-80GB\"")));
  EXPECT_THAT(ParseModel(""), StatusIs(StatusCode::kInvalidArgument, HasSubstr("kgpu devices")));
}

TEST(SelectorTextTest, UuidsMayBeCutAfterEightDigits) {
  EXPECT_THAT(ParseUuid("GPU-5D5BA0D6"), IsOkAndHolds("GPU-5d5ba0d6"));
  EXPECT_THAT(ParseUuid("GPU-5d5ba0d6-d33d"), IsOkAndHolds("GPU-5d5ba0d6-d33d"));
  EXPECT_THAT(ParseUuid("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001"),
              IsOkAndHolds("MIG-7c1d4bd0-85a5-5d5a-b9c5-d4ee4f2b0001"));
  EXPECT_THAT(ParseUuid("MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/1/0"),
              IsOkAndHolds("MIG-GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77/1/0"));
  for (const char* bad : {"GPU-5d5ba0d", "5d5ba0d6", "GPU-5d5ba0d6d", "gpu-5d5ba0d6", "GPU-",
                          "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a770", "MIG-GPU-5d5ba0d6"}) {
    EXPECT_THAT(ParseUuid(bad), StatusIs(StatusCode::kInvalidArgument)) << bad;
  }
}

TEST(SelectorTextTest, AMigProfileOfAResourceNameIsRefusedWithItsOwnName) {
  EXPECT_THAT(ParseMigProfile("1c.3g.40gb"), IsOkAndHolds("1c.3g.40gb"));
  EXPECT_THAT(ParseMigProfile("1g.*"), IsOkAndHolds("1g.*"));
  EXPECT_THAT(ParseMigProfile("1g.10gb.me"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("use \"1g.10gb+me\"")));
  EXPECT_THAT(ParseMigProfile("big"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(SelectorTextTest, PciTakesLspcisForm) {
  EXPECT_THAT(ParsePci("07:00.0"), IsOkAndHolds(Property(&device::PciBusId::str, "0000:07:00.0")));
  EXPECT_THAT(ParsePci("00000000:07:00.0"),
              IsOkAndHolds(Property(&device::PciBusId::str, "0000:07:00.0")));
  EXPECT_THAT(ParsePci("7"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("PCI address")));
}

TEST(MatchesPatternTest, AStarIsAnyRun) {
  EXPECT_TRUE(MatchesPattern("A100-*", "A100-SXM4-80GB"));
  EXPECT_TRUE(MatchesPattern("*-80GB", "A100-SXM4-80GB"));
  EXPECT_TRUE(MatchesPattern("*SXM*80*", "A100-SXM4-80GB"));
  EXPECT_TRUE(MatchesPattern("A100-SXM4-80GB", "A100-SXM4-80GB"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_TRUE(MatchesPattern("a*a", "aa"));
  EXPECT_FALSE(MatchesPattern("a*a", "a"));
  EXPECT_FALSE(MatchesPattern("A100", "A100-SXM4-80GB"));
  EXPECT_FALSE(MatchesPattern("*-40GB", "A100-SXM4-80GB"));
  EXPECT_FALSE(MatchesPattern("", "x"));
}

}  // namespace
}  // namespace kgpu::config
