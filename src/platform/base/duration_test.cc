#include "src/platform/base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(DurationTest, TakesEveryUnit) {
  EXPECT_THAT(ParseDuration("--x", "500ms"), IsOkAndHolds(milliseconds(500)));
  EXPECT_THAT(ParseDuration("--x", "60s"), IsOkAndHolds(milliseconds(60'000)));
  EXPECT_THAT(ParseDuration("--x", "5m"), IsOkAndHolds(milliseconds(300'000)));
  EXPECT_THAT(ParseDuration("--x", "24h"), IsOkAndHolds(milliseconds(86'400'000)));
  EXPECT_THAT(ParseDuration("--x", "0"), IsOkAndHolds(milliseconds(0)));
}

TEST(DurationTest, RefusesTheRestAndNamesTheFlag) {
  for (const char* text : {"", "60", "s", "-1s", "1.5s", "60 s", "25h", "99999999999999999999s"}) {
    EXPECT_THAT(ParseDuration("--hold-down", text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("--hold-down: \"")))
        << text;
  }
}

TEST(SinceTest, TakesDaysToo) {
  EXPECT_THAT(ParseSince("--since", "45s"), IsOkAndHolds(std::chrono::seconds(45)));
  EXPECT_THAT(ParseSince("--since", "90m"), IsOkAndHolds(std::chrono::minutes(90)));
  EXPECT_THAT(ParseSince("--since", "48h"), IsOkAndHolds(std::chrono::hours(48)));
  EXPECT_THAT(ParseSince("--since", "7d"), IsOkAndHolds(std::chrono::days(7)));
}

TEST(SinceTest, NamesTheUnitsAndTheMost) {
  for (const char* text : {"", "d", "7", "-1d", "3651d", "99999999999999999999s", "1w", "9 d"}) {
    EXPECT_THAT(ParseSince("--since", text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("90m, 24h or 7d; at most 3650d")))
        << text;
  }
}

TEST(DurationTest, IsWrittenInTheLargestUnitThatHoldsItWhole) {
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0");
  EXPECT_EQ(FormatDuration(milliseconds(1'500)), "1500ms");
  EXPECT_EQ(FormatDuration(milliseconds(90'000)), "90s");
  EXPECT_EQ(FormatDuration(milliseconds(120'000)), "2m");
  EXPECT_EQ(FormatDuration(milliseconds(86'400'000)), "24h");
}

}  // namespace
}  // namespace kgpu
