// What others write and the provider reads: objects of the cluster, other gateways, logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <string>

#include "src/functions/kubernetes/demand_board.h"
#include "src/functions/kubernetes/deployment_facts.h"
#include "src/functions/kubernetes/gpu_time.h"
#include "src/functions/kubernetes/pod.h"
#include "src/functions/kubernetes/pod_address.h"
#include "src/functions/kubernetes/pod_logs.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::value Pod(std::string_view status, std::string_view spec = "{}") {
  return json::parse(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"fn",
           "labels":{{"kgpu.dev/function":"hello"}},
           "annotations":{{"kgpu.dev/template-hash":"h1"}}}},"spec":{},"status":{}}})",
      spec, status));
}

TEST(PodFactsTest, ReadsAPodThatIsReady) {
  json::value pod = Pod(
      R"({"phase":"Running","podIP":"10.0.0.7","conditions":[{"type":"Ready","status":"True"}]})",
      R"({"nodeName":"n1","containers":[{"name":"function","image":"i",
          "resources":{"limits":{"nvidia.com/gpu":"2","memory":"1Gi"}}}]})");
  TrimPod(pod);
  EXPECT_EQ(PodFactsOf(pod), (PodFacts{.name = "p",
                                       .function = "hello",
                                       .template_hash = "h1",
                                       .ip = "10.0.0.7",
                                       .gpus = 2,
                                       .has_node = true,
                                       .is_ready = true}));
  EXPECT_EQ(pod.at("spec").at("containers").at(0).as_object().if_contains("image"), nullptr)
      << "nobody reads it";
}

TEST(PodFactsTest, SaysWhyAPodIsNotReady) {
  const PodFacts waits =
      PodFactsOf(Pod(R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
              "reason":"Unschedulable","message":"0/3 nodes are available"}]})"));
  EXPECT_TRUE(waits.is_unschedulable);
  EXPECT_EQ(waits.problem, "0/3 nodes are available");

  EXPECT_THAT(
      PodFactsOf(
          Pod(R"({"phase":"Running","containerStatuses":[{"name":"function","state":{"waiting":
                  {"reason":"CrashLoopBackOff","message":"back-off 10s"}},"lastState":{"terminated":
                  {"exitCode":137,"reason":"OOMKilled"}}}]})",
              R"({"nodeName":"n1"})"))
          .problem,
      HasSubstr("CrashLoopBackOff: back-off 10s (it ended with exit code 137: OOMKilled)"));

  const PodFacts refused = PodFactsOf(
      Pod(R"({"phase":"Failed","reason":"UnexpectedAdmissionError","message":"no devices"})"));
  EXPECT_TRUE(refused.is_over);
  EXPECT_EQ(refused.problem, "UnexpectedAdmissionError: no devices");

  EXPECT_THAT(PodFactsOf(Pod(R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":
                                 {"reason":"ContainerCreating"}}}]})",
                             R"({"nodeName":"n1"})"))
                  .problem,
              IsEmpty())
      << "that is how a pod starts";
}

TEST(PodFactsTest, ForgetsTheSchedulersWordOnceThereIsANode) {
  EXPECT_THAT(PodFactsOf(Pod(R"({"phase":"Pending","conditions":[{"type":"PodScheduled",
                                 "status":"False","reason":"Unschedulable","message":"no"}]})",
                             R"({"nodeName":"n1"})"))
                  .problem,
              IsEmpty());
}

TEST(DeploymentFactsTest, RefusesWhatIsNoFunction) {
  EXPECT_THAT(DeploymentFactsOf(json::parse(R"({"metadata":{"name":"d"}})")),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(DeploymentFactsOf(json::value(7)), StatusIs(StatusCode::kInvalidArgument));
}

TEST(DemandTest, ReadsWhatItWrites) {
  const Demand demand = {{"hello", 3}, {"hello.team-a", 1}};
  const auto again = ParseDemand(PrintDemand(demand));
  ASSERT_OK(again);
  EXPECT_EQ(*again, demand);
}

TEST(DemandTest, IsBounded) {
  Demand demand;
  for (int i = 0; i < 10'000; ++i) {
    demand[fmt::format("function-with-a-long-name-{}", i)] = 1;
  }
  const std::string text = PrintDemand(demand);
  EXPECT_LE(text.size(), size_t{64} << 10);
  EXPECT_OK(ParseDemand(text));
}

TEST(DemandTest, RefusesWhatNoGatewayWrites) {
  for (const char* text : {"", "[]", R"({"a":0})", R"({"a":-1})", R"({"a":"1"})", R"({"a":1.5})"}) {
    EXPECT_THAT(ParseDemand(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(UsageTest, ReadsWhatItWrites) {
  const Day day = std::chrono::sys_days(std::chrono::year(2026) / 1 / 31);
  const DailyUse use = {{day, {{"team-a", 12.5}}}, {day + std::chrono::days(1), {{"fn", 3}}}};
  EXPECT_EQ(ParseUse(json::object{{"data", PrintUse(use)}}), use);
}

TEST(UsageTest, SkipsWhatPeopleHaveMadeOfIt) {
  const DailyUse use = ParseUse(json::parse(
      R"({"data":{"2026-01-31":"{\"a\":1,\"b\":-1,\"c\":\"x\"}","yesterday":"{}","2026-02-01":"no",
          "2026-02-02":7}})"));
  ASSERT_THAT(use, SizeIs(2));
  EXPECT_EQ(use.begin()->second, (GpuSeconds{{"a", 1}}));
  EXPECT_THAT(ParseUse(json::value()), IsEmpty());
}

TEST(UsageTest, KeepsTheNewestDays) {
  json::object data;
  for (int day = 1; day <= 31; ++day) {
    data[fmt::format("2026-01-{:02}", day)] = "{}";
    data[fmt::format("2026-03-{:02}", day)] = "{}";
  }
  const DailyUse use = ParseUse(json::object{{"data", data}});
  EXPECT_THAT(use, SizeIs(35));
  EXPECT_EQ(use.rbegin()->first, std::chrono::sys_days(std::chrono::year(2026) / 3 / 31));
}

TEST(PodLogTest, ReadsLinesWithTheirTimes) {
  const auto lines = ParsePodLog(
      "2026-01-31T12:00:00.5Z first\n2026-01-31T12:00:01Z second\nwithout a time\n"
      "2026-01-31T12:00:02Z cut off");
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0].text, "first\n");
  EXPECT_EQ(lines[2].text, "without a time\n");
  EXPECT_EQ(lines[2].time, lines[1].time);
  EXPECT_EQ(lines[3].text, "cut off\n");
  EXPECT_LT(lines[0].time, lines[1].time);
  EXPECT_THAT(ParsePodLog(""), IsEmpty());
}

TEST(WatchdogAddressTest, KnowsBothFamilies) {
  EXPECT_EQ(WatchdogAddress("10.0.0.7"), "10.0.0.7:8080");
  EXPECT_EQ(WatchdogAddress("fd00::7"), "[fd00::7]:8080");
}

}  // namespace
}  // namespace kgpu::functions
