#include "testing/apiserver/faults.h"

#include <gmock/gmock.h>

#include "testing/apiserver/api_fixture.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using FaultsTest = ApiTest;

TEST_F(FaultsTest, AnswerHitsItsRequestsSoOften) {
  api_.faults().Add({.verb = "list",
                     .resource = "nodes",
                     .code = 429,
                     .retry_after = std::chrono::seconds(3),
                     .count = 2});
  EXPECT_EQ(Get("/api/v1/pods")->code, 200);
  EXPECT_EQ(Get("/api/v1/nodes")->code, 429);
  const auto second = Get("/api/v1/nodes");
  EXPECT_EQ(second->headers.Find("Retry-After"), "3");
  EXPECT_EQ(TextAt(second->Json(), {"reason"}), "TooManyRequests");
  EXPECT_EQ(Get("/api/v1/nodes")->code, 200);
}

TEST_F(FaultsTest, TokenIsRefusedUntilItChanges) {
  api_.faults().Add({.token = "old", .code = 401});
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", "Bearer old"}})->code, 401);
  EXPECT_EQ(Get("/api/v1/nodes", {{"Authorization", "Bearer new"}})->code, 200);
}

TEST_F(FaultsTest, ResetGivesNoAnswer) {
  const uint64_t fault = api_.faults().Add({.kind = FaultKind::kReset});
  const auto seen = Get("/api/v1/nodes");
  EXPECT_EQ(seen->code, 0);
  EXPECT_TRUE(seen->is_cut);
  api_.faults().Remove(fault);
  EXPECT_EQ(Get("/api/v1/nodes")->code, 200);
}

TEST_F(FaultsTest, CutBreaksInTheMiddleOfAFrame) {
  api_.faults().Add({.kind = FaultKind::kCut, .verb = "watch", .bytes = 100});
  const auto watch = Get("/api/v1/nodes?watch=1");
  AddNode("n1");
  EXPECT_EQ(watch->body.size(), 100U);
  EXPECT_TRUE(watch->is_cut);
  loop_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(api_.watches(), 0U);
}

TEST_F(FaultsTest, WatchErrorComesBehind200) {
  api_.faults().Add({.kind = FaultKind::kWatchError, .code = 410});
  const auto watch = Get("/api/v1/nodes?watch=1");
  EXPECT_EQ(watch->code, 200);
  EXPECT_THAT(watch->EventNames(), ElementsAre("ERROR"));
}

TEST_F(FaultsTest, DelayHoldsTheAnswerBack) {
  api_.faults().Add({.kind = FaultKind::kDelay, .delay = std::chrono::seconds(5)});
  const auto seen = Get("/api/v1/nodes");
  loop_.Advance(std::chrono::seconds(4));
  EXPECT_EQ(seen->code, 0);
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(seen->code, 200);
  EXPECT_TRUE(seen->is_ended);
}

TEST_F(FaultsTest, EndsAfterItsTime) {
  api_.faults().Add({.code = 503, .lasts_for = std::chrono::seconds(10)});
  EXPECT_EQ(Get("/api/v1/nodes")->code, 503);
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(Get("/api/v1/nodes")->code, 200);
}

TEST_F(FaultsTest, ReadsItsJson) {
  const auto parse = [](std::string_view text) {
    return ParseFault(
        boost::json::parse(boost::json::string_view(text.data(), text.size())).as_object());
  };
  const auto fault = parse(R"({"kind":"cut","verb":"watch","bytes":7,"seconds":1.5})");
  ASSERT_OK(fault);
  EXPECT_EQ(fault->kind, FaultKind::kCut);
  EXPECT_EQ(fault->bytes, 7U);
  EXPECT_EQ(fault->lasts_for, std::chrono::milliseconds(1500));
  EXPECT_THAT(parse(R"({"kind":"explode"})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("kind")));
  EXPECT_THAT(parse(R"({"kind":"cut","byte":1})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte")));
}

TEST_F(FaultsTest, CountersTellWhoAskedWhat) {
  AddNode("n1");
  Get("/api/v1/nodes/n1");
  Get("/api/v1/nodes/n2");
  MergePatch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"b"}}})");
  MergePatch("/api/v1/nodes/n1/status", R"({"metadata":{"labels":{"a":"b"}}})");
  const Count gets = api_.counters().Sum("get", "nodes", "tester");
  EXPECT_EQ(gets.requests, 2U);
  EXPECT_EQ(gets.refused, 1U);
  EXPECT_GT(gets.bytes_out, 100U);
  const Count patches = api_.counters().Sum("patch", "nodes");
  EXPECT_EQ(patches.changes, 1U);
  EXPECT_EQ(patches.no_ops, 1U);
  EXPECT_EQ(api_.counters().Sum("", "nodes/status").requests, 1U);
  api_.counters().Reset();
  EXPECT_EQ(api_.counters().Sum().requests, 0U);
}

}  // namespace
}  // namespace kgpu::apiserver
