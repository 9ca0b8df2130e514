#include "src/platform/base/time_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
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

TEST(KubeTimeTest, RefusesWhatIsNoTime) {
  constexpr std::array<std::string_view, 10> kBad = {"",
                                                     "2023",
                                                     "2023-11-14",
                                                     "2023-11-14T22:13:20",
                                                     "2023-02-30T22:13:20Z",
                                                     "2023-11-14T24:13:20Z",
                                                     "2023-11-14T22:13:20.Z",
                                                     "2023-11-14T22:13:20Zx",
                                                     "9999-11-14T22:13:20Z",
                                                     "2023-11-14T22:13:20+2:00"};
  for (const std::string_view text : kBad) {
    EXPECT_THAT(ParseTime(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be a time")))
        << text;
  }
}

}  // namespace
}  // namespace kgpu
