#include "src/functions/queue/queue_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(QueueRequestTest, ReadsWhatAListShouldHave) {
  const auto selection = ParseListRequest({.query = "function=a&state=dead"});
  ASSERT_OK(selection);
  EXPECT_EQ(selection->function, "a");
  EXPECT_EQ(selection->state, CallState::kDead);
  EXPECT_EQ(ParseListRequest({})->state, std::nullopt);
  EXPECT_THAT(Message(ParseListRequest({.query = "state=lost"}).status()),
              HasSubstr("lost must be waiting, running or dead"));
}

TEST(QueueRequestTest, ReadsAChange) {
  const auto change =
      ParseChangeRequest(R"({"function":"a","ids":["x","y","x"],"state":"waiting","dryRun":true})");
  ASSERT_OK(change);
  EXPECT_EQ(change->selection.function, "a");
  EXPECT_THAT(change->selection.ids, ElementsAre("x", "y"));
  EXPECT_EQ(change->selection.state, CallState::kWaiting);
  EXPECT_TRUE(change->is_dry_run);
}

TEST(QueueRequestTest, DeadCallsAreMeantIfNothingElseIsSaid) {
  const auto change = ParseChangeRequest("{}");
  ASSERT_OK(change);
  EXPECT_EQ(change->selection.state, CallState::kDead);
  EXPECT_FALSE(change->is_dry_run);
}

TEST(QueueRequestTest, RefusesWhatItDoesNotUnderstand) {
  for (const char* text : {"", "[]", R"({"function":""})", R"({"function":1})", R"({"ids":[]})",
                           R"({"ids":"x"})", R"({"ids":[1]})", R"({"state":"running"})",
                           R"({"state":"x"})", R"({"dryRun":1})", R"({"fucntion":"a"})"}) {
    EXPECT_EQ(ParseChangeRequest(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  std::string ids;
  for (int i = 0; i <= 1'000; ++i) {
    ids += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\"";
  }
  EXPECT_FALSE(ParseChangeRequest("{\"ids\":[" + ids + "]}").ok());
}

TEST(QueueRequestTest, ShowsACallAndCounts) {
  const WallTime now(std::chrono::hours(1));
  const CallRecord call{.call_id = "x", .function = "a", .arrived = now, .not_before = now};
  EXPECT_THAT(doc::PrintLine(CallView(call, CallState::kWaiting)),
              HasSubstr(R"("notBefore":"1970-01-01T01:00:00Z")"));
  EXPECT_EQ(CallView(call, CallState::kDead).if_contains("notBefore"), nullptr);
  const auto counts = CountsView(
      {{"a", {.waiting = 1, .running = 2, .dead = 3, .retries = 4, .oldest = now}}, {"b", {}}},
      now + std::chrono::seconds(5));
  EXPECT_EQ(doc::PrintLine(counts),
            R"([{"function":"a","waiting":1,"running":2,"dead":3,"retries":4,"oldestSeconds":5},)"
            R"({"function":"b","waiting":0,"running":0,"dead":0,"retries":0,"oldestSeconds":0}])");
}

}  // namespace
}  // namespace kgpu::functions
