#include "src/platform/base/time_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "testing/status_matchers.h"

namespace kgpu {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

WallTime At(int64_t second, int64_t micro = 0) {
  return WallTime(seconds(second) + microseconds(micro));
}

TEST(KubeTimeTest, WritesWholeSecondsOrSixDigits) {
  EXPECT_EQ(FormatTime(At(1'700'000'000, 999'999)), "2023-11-14T22:13:20Z");
  EXPECT_EQ(FormatMicroTime(At(1'700'000'000)), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(FormatMicroTime(At(1'700'000'000, 42)), "2023-11-14T22:13:20.000042Z");
}

TEST(KubeTimeTest, ReadsWhatItWritesAndWhatOthersWrite) {
  EXPECT_THAT(ParseTime("2023-11-14T22:13:20Z"), IsOkAndHolds(At(1'700'000'000)));
  EXPECT_THAT(ParseTime("2023-11-14T22:13:20.000042Z"), IsOkAndHolds(At(1'700'000'000, 42)));
  EXPECT_THAT(ParseTime("2023-11-14T22:13:20.5Z"), IsOkAndHolds(At(1'700'000'000, 500'000)));
  EXPECT_THAT(ParseTime("2023-11-15T00:13:20.123456789+02:00"),
              IsOkAndHolds(At(1'700'000'000, 123'456)));
  EXPECT_THAT(ParseTime("2023-11-14T17:13:20-05:00"), IsOkAndHolds(At(1'700'000'000)));
}

// Whatever is written can be read, or its writer is refused.
TEST(KubeTimeTest, ReadsAllTimesThatAClockMayHave) {
  for (const WallTime time : {kFirstTime, WallTime(), kLastTime}) {
    EXPECT_OK(CheckClock(time));
    EXPECT_THAT(ParseTime(FormatTime(time)), IsOkAndHolds(time));
  }
  for (const WallTime time : {kFirstTime - seconds(1), kLastTime + seconds(1)}) {
    EXPECT_THAT(CheckClock(time), StatusIs(StatusCode::kFailedPrecondition,
                                           HasSubstr("the clock says " + FormatTime(time))));
    EXPECT_THAT(ParseTime(FormatTime(time)),
                StatusIs(StatusCode::kInvalidArgument,
                         HasSubstr("must be a time from the year 1701 to 2249")));
  }
}

TEST(KubeTimeTest, NeverIsTheLastTime) {
  EXPECT_THAT(ParseExpiry("9999-12-31T23:59:59Z"), IsOkAndHolds(kLastTime));
  EXPECT_THAT(ParseExpiry("0001-01-01T00:00:00Z"), IsOkAndHolds(kFirstTime));
  EXPECT_THAT(ParseExpiry("2023-11-14T22:13:20Z"), IsOkAndHolds(At(1'700'000'000)));
  EXPECT_THAT(ParseExpiry("never"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(TimeAt(seconds(253'402'300'799)), kLastTime);
  EXPECT_EQ(TimeAt(seconds(INT64_MIN)), kFirstTime);
  EXPECT_EQ(TimeAt(seconds(1'700'000'000)), At(1'700'000'000));
}

TEST(KubeTimeTest, RefusesWhatIsNoTime) {
  constexpr std::array<std::string_view, 9> kBad = {"",
                                                    "2023",
                                                    "2023-11-14",
                                                    "2023-11-14T22:13:20",
                                                    "2023-02-30T22:13:20Z",
                                                    "2023-11-14T24:13:20Z",
                                                    "2023-11-14T22:13:20.Z",
                                                    "2023-11-14T22:13:20Zx",
                                                    "2023-11-14T22:13:20+2:00"};
  for (const std::string_view text : kBad) {
    EXPECT_THAT(ParseTime(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be a time")))
        << text;
  }
}

}  // namespace
}  // namespace kgpu
