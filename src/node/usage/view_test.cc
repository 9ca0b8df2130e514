#include "src/node/usage/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/report/format.h"
#include "testing/status_matchers.h"

namespace kgpu::usage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 2023-11-14T22:13:20Z.
constexpr WallTime kNow{std::chrono::seconds(1'700'000'000)};

Hour Ago(int count) {
  return std::chrono::floor<std::chrono::hours>(kNow) - std::chrono::hours(count);
}

class UsageViewTest : public ::testing::Test {
 protected:
  UsageViewTest() {
    ledger_.Add(Ago(0), {"ml", "a"}, {3600, 1800, 7200});
    ledger_.Add(Ago(2), {"ml", "b"}, {7200, 0, 0});
    ledger_.Add(Ago(30), {"web", "c"}, {36'000, 0, 0});
  }
  Ledger ledger_;
};

TEST_F(UsageViewTest, ListsPodsOfTheTimeAskedFor) {
  const UsageQuery query{.now = kNow};
  EXPECT_EQ(UsageTable(UsageRows(ledger_, query), query),
            "Since 2023-11-13T22:00:00Z\n"
            "NAMESPACE  POD  GPU-HOURS  BUSY-HOURS  BUSY %  GIB-HOURS\n"
            "ml         b    2.00       0.00        0%      0.00\n"
            "ml         a    1.00       0.50        50%     2.00\n"
            "total      -    3.00       0.50        17%     2.00\n");
}

TEST_F(UsageViewTest, SumsNamespaces) {
  const UsageQuery query{.now = kNow, .since = std::chrono::days(7), .by = GroupBy::kNamespace};
  EXPECT_THAT(UsageRows(ledger_, query), ElementsAre(UsageRow{{"web", ""}, {36'000, 0, 0}},
                                                     UsageRow{{"ml", ""}, {10'800, 1800, 7200}}));
}

TEST_F(UsageViewTest, HoursOfAWrongClockAreNotShown) {
  ledger_.Add(Ago(-1000), {"ml", "future"}, {1, 1, 1});
  const UsageQuery query{.now = kNow};
  EXPECT_EQ(UsageRows(ledger_, query).size(), 2U);
}

TEST_F(UsageViewTest, IsJsonForPrograms) {
  const UsageQuery query{.now = kNow, .since = std::chrono::hours(1)};
  EXPECT_EQ(boost::json::serialize(UsageJson(UsageRows(ledger_, query), query)),
            R"({"since":"2023-11-14T21:00:00Z","usage":[{"namespace":"ml","pod":"a",)"
            R"("gpuSeconds":3600,"busyGpuSeconds":1800,"gibSeconds":7200}],)"
            R"("total":{"gpuSeconds":3600,"busyGpuSeconds":1800,"gibSeconds":7200}})");
}

TEST_F(UsageViewTest, WhatTheDriverDoesNotTellIsNotZero) {
  ledger_.Add(Ago(0), {"ml", "mps"}, {3600, 0, 3600, 3600});
  const UsageQuery query{.now = kNow, .since = std::chrono::hours(1)};
  const std::vector<UsageRow> rows = UsageRows(ledger_, query);
  EXPECT_THAT(UsageTable(rows, query),
              HasSubstr("ml         mps  1.00       -           -       1.00\n"));
  EXPECT_THAT(boost::json::serialize(UsageJson(rows, query)),
              HasSubstr(R"("pod":"mps","gpuSeconds":3600,"busyGpuSeconds":null)"));
}

TEST_F(UsageViewTest, AFewSecondsThatAreNotReportedAreBorne) {
  EXPECT_EQ(ReportedBusy({100, 30, 0, 5}), 30);
  EXPECT_EQ(ReportedBusy({100, 30, 0, 6}), std::nullopt);
}

TEST(ParseGroupByTest, NamesTheWords) {
  EXPECT_THAT(ParseGroupBy("--by", "pod"), IsOkAndHolds(GroupBy::kPod));
  EXPECT_THAT(ParseGroupBy("--by", "node"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("pod or namespace")));
}

}  // namespace
}  // namespace kgpu::usage
