#include "src/cli/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cli {
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

}  // namespace
}  // namespace kgpu::cli
