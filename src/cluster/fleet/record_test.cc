#include "src/cluster/fleet/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::fleet {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(RecordTest, AnUpgradeReadsBackTheSame) {
  const UpgradeRecord record{.state = UpgradeState::kFailed,
                             .since = WallTime(seconds(1'800'000'000)),
                             .from = "535.104.05",
                             .to = "550",
                             .source = policy::DriverSource::kContainer,
                             .policy = "p",
                             .group = "g",
                             .attempt = 2,
                             .is_single = true,
                             .is_cordoned = true,
                             .pod = "kgpu-install-1",
                             .failed_in = UpgradeState::kInstall,
                             .reason = "InstallFailed",
                             .message = "code 1"};
  EXPECT_THAT(ParseUpgradeRecord(PrintRecord(record)), IsOkAndHolds(record));
}

TEST(RecordTest, AFenceReadsBackTheSame) {
  const FenceRecord record{.is_validating = true,
                           .since = WallTime(seconds(1'800'000'000)),
                           .reason = "RowRemapFailure",
                           .message = "GPU 3",
                           .policy = "p",
                           .group = "g",
                           .attempt = 4,
                           .is_single = true};
  EXPECT_THAT(ParseFenceRecord(PrintRecord(record)), IsOkAndHolds(record));
}

TEST(RecordTest, FieldsOfANewerVersionAreIgnored) {
  const auto record = ParseUpgradeRecord(
      R"({"state":"wait","since":"2026-01-02T03:04:05Z","to":"550","source":"package","x":{}})");
  ASSERT_OK(record);
  EXPECT_EQ(record->to, "550");
}

TEST(RecordTest, StatesOfANewerVersionAreErrors) {
  EXPECT_THAT(
      ParseUpgradeRecord(
          R"({"state":"dream","since":"2026-01-02T03:04:05Z","to":"1","source":"package"})"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("state: \"dream\"")));
  EXPECT_FALSE(ParseUpgradeRecord("").ok());
  EXPECT_FALSE(
      ParseUpgradeRecord(R"({"state":"wait","since":"2026-01-02T03:04:05Z","source":"package"})")
          .ok());
}

TEST(RecordTest, PodNamesDifferByNodeTimeAndAttempt) {
  const WallTime now{seconds(1'800'000'000)};
  const std::string name = PodName("install", "u", now, 1);
  EXPECT_EQ(name, PodName("install", "u", now, 1));
  EXPECT_NE(name, PodName("install", "v", now, 1));
  EXPECT_NE(name, PodName("install", "u", now + seconds(1), 1));
  EXPECT_NE(name, PodName("install", "u", now, 2));
  EXPECT_EQ(name.size(), std::string("kgpu-install-").size() + 16);
}

}  // namespace
}  // namespace kgpu::fleet
