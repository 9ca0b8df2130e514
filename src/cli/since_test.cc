#include "src/cli/since.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;

constexpr WallTime kNow{std::chrono::seconds(1'767'323'045)};

TEST(SinceTest, TakesDaysToo) {
  EXPECT_THAT(ParseSince("7d", kNow), IsOkAndHolds(kNow - days(7)));
  EXPECT_THAT(ParseSince("24h", kNow), IsOkAndHolds(kNow - hours(24)));
  EXPECT_THAT(ParseSince("90m", kNow), IsOkAndHolds(kNow - minutes(90)));
}

TEST(SinceTest, NamesTheUnits) {
  for (const char* text : {"", "d", "yesterday", "-1h", "9999999d", "25h", "1w"}) {
    EXPECT_THAT(ParseSince(text, kNow),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("90m, 24h, 7d")))
        << text;
  }
}

}  // namespace
}  // namespace kgpu::cli
