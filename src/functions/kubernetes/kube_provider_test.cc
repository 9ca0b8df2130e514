#include "src/functions/kubernetes/kube_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/kubernetes/test_gateways.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class KubeProviderTest : public ::testing::Test {
 protected:
  KubeProviderTest() { world_.AddNode("node-a"); }

  int Phase(const std::string& name) {
    const auto metrics = world_.Ask({.target = "/metrics"}).body;
    const std::string sample =
        "kgpu_function_cold_start_seconds_count{function_name=\"hello\","
        "phase=\"" +
        name + "\"} ";
    const size_t at = metrics.find(sample);
    return at == std::string::npos ? 0 : std::stoi(metrics.substr(at + sample.size()));
  }

  TestGateways world_;
};

TEST_F(KubeProviderTest, StartsAPodForACallAndEndsItWhenIdle) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  EXPECT_EQ(world_.Replicas("hello"), 0);

  const http::Response answer = world_.Call("input");
  EXPECT_EQ(answer.code, 200) << answer.body;
  EXPECT_EQ(answer.body, "input");
  EXPECT_EQ(world_.Pods(), 1U);
  for (const std::string phase : {"scheduled", "pulled", "started", "ready"}) {
    EXPECT_EQ(Phase(phase), 1) << phase;
  }

  world_.Pass(minutes(4));
  EXPECT_EQ(world_.Pods(), 1U) << "it was idle for less than its limit";
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; }));
  EXPECT_EQ(world_.Replicas("hello"), 0);
}

TEST_F(KubeProviderTest, PartOfAGpuComesFromTheSmallestSlicesOfTheCluster) {
  EXPECT_OK(world_.cluster.AddNode({.name = "sliced",
                                    .resources = {{"nvidia.com/gpu-40gi", "1"},
                                                  {"nvidia.com/gpu-20gi", "3"},
                                                  {"nvidia.com/gpu-16gi", "0"}}}));
  world_.Start();
  Function function = SmallFunction();
  function.gpu = {.count = 1, .memory = int64_t{12} << 30};
  ASSERT_EQ(world_.Deploy(function).code, 200);
  EXPECT_EQ(world_.Call("input").code, 200);
  ASSERT_EQ(world_.Pods(), 1U);
  EXPECT_THAT(std::string(world_.api.store().All("pods").begin()->second->Text()),
              HasSubstr(R"("nvidia.com/gpu-20gi":"1")"));
  function.name = "large";
  function.gpu.memory = int64_t{60} << 30;
  EXPECT_THAT(world_.Deploy(function).body, HasSubstr("the largest part"));
}

TEST_F(KubeProviderTest, StartsAsManyPodsAsCallsNeed) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  std::vector<http::Responder> held;
  world_.watchdogs.handler = [&held](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  std::vector<std::optional<http::Response>> answers(3);
  std::vector<std::unique_ptr<http::Call>> calls;
  calls.reserve(answers.size() + 1);
  for (auto& answer : answers) {
    calls.push_back(world_.Begin(CallRequest("x"), answer));
  }
  ASSERT_TRUE(world_.Until([&] { return held.size() == 3; }));
  EXPECT_EQ(world_.Pods(), 3U) << "a pod takes one call at a time";
  for (const http::Responder& responder : held) {
    responder.Send(http::TextResponse(200, "done"));
  }
  ASSERT_TRUE(world_.Until([&] { return answers.back().has_value(); }));
}

TEST_F(KubeProviderTest, StartsPodsForQueuedCalls) {
  KubeProvider& provider = world_.Start().provider();
  ASSERT_TRUE(world_.Until([&] { return provider.is_scaling(); }));
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  int64_t queued = 3;
  provider.SetQueued([&queued](const std::string& /*key*/) { return queued; });
  provider.Settle("hello");
  EXPECT_TRUE(world_.Until([this] { return world_.Pods() == 3; }));
  queued = 0;
  provider.Settle("hello");
  EXPECT_TRUE(world_.Until([this] { return world_.Pods() == 0; })) << "the queue is empty";
}

TEST_F(KubeProviderTest, MakesQueuedCallsWhenThereAreGpus) {
  world_.Start();
  Function function = SmallFunction();
  function.gpu.count = 4;
  ASSERT_EQ(world_.Deploy(function).code, 200);
  int made = 0;
  world_.watchdogs.handler = [&made](const http::Request&, const http::Responder& responder) {
    ++made;
    responder.Send(http::TextResponse(200, "done"));
  };
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(world_.Ask({.method = "POST", .target = "/async-function/hello"}).code, 202);
  }
  // A gateway that is killed meanwhile makes them when it is back: before it has read the
  // functions, no call counts as one of a function that is not deployed.
  world_.Kill("gateway-0");
  world_.Start();
  EXPECT_TRUE(world_.Until([&] { return made >= 20; })) << made;
}

TEST_F(KubeProviderTest, GoesToZeroAndBackAHundredTimes) {
  world_.Start();
  Function function = SmallFunction();
  function.scaling.idle = seconds(5);
  ASSERT_EQ(world_.Deploy(function).code, 200);
  size_t timers = 0;
  size_t watches = 0;
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(world_.Call("again").code, 200) << round;
    ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; })) << round;
    if (round == 9) {
      timers = world_.loop.timers();
      watches = world_.loop.watches() - world_.watchdogs.size();
    }
  }
  ASSERT_TRUE(world_.Until([this] { return world_.api.store().All("pods").empty(); }));
  EXPECT_LE(world_.loop.timers(), timers + 2);
  EXPECT_LE(world_.loop.watches() - world_.watchdogs.size(), watches + 2);
}

TEST_F(KubeProviderTest, SaysAtOnceThatNoNodeHasSuchAGpu) {
  world_.Start();
  world_.explanation = {.text = "pending: no node has that many: nvidia.com/gpu: 9 of 4",
                        .may_fit_later = false};
  Function function = SmallFunction();
  function.gpu.count = 9;
  ASSERT_EQ(world_.Deploy(function).code, 200);
  const SteadyTime begun = world_.loop.clock().Now();
  const http::Response answer = world_.Call("x");
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "no-gpu");
  EXPECT_THAT(answer.body, HasSubstr("9 of 4"));
  EXPECT_LT(world_.loop.clock().Now() - begun, seconds(3));

  // A pod that waits for its node is never taken back.
  world_.Pass(minutes(30));
  EXPECT_EQ(world_.Pods(), 1U);
  EXPECT_EQ(world_.Call("x").code, 503);

  // Once there is such a node, calls are answered.
  world_.AddNode("node-b", "16");
  ASSERT_TRUE(world_.Until([this] { return world_.Call("x").code == 200; }));
}

TEST_F(KubeProviderTest, HoldsCallsWhileAllGpusAreBusy) {
  world_.Start();
  Function first = SmallFunction("first");
  first.gpu.count = 4;
  first.scaling.idle = minutes(1);
  ASSERT_EQ(world_.Deploy(first).code, 200);
  ASSERT_EQ(world_.Call("x", "first").code, 200);
  Function second = SmallFunction("second");
  second.gpu.count = 2;
  ASSERT_EQ(world_.Deploy(second).code, 200);
  const http::Response answer = world_.Call("x", "second");
  EXPECT_EQ(answer.code, 200) << answer.body;
  EXPECT_EQ(world_.Replicas("first"), 0) << "its GPUs were given back meanwhile";
  EXPECT_GE(world_.explained, 1);
}

TEST_F(KubeProviderTest, SaysWhyAPodDoesNotStart) {
  world_.Start();
  Function function = SmallFunction();
  function.environment["SIM_WAITING"] = "ImagePullBackOff";
  ASSERT_EQ(world_.Deploy(function).code, 200);
  const http::Response answer = world_.Call("x");
  EXPECT_EQ(answer.code, 503);
  EXPECT_EQ(answer.headers.Find("Kgpu-Fault"), "start");
  EXPECT_THAT(answer.body, HasSubstr("ImagePullBackOff"));
}

TEST_F(KubeProviderTest, ServesWhileTheApiServerIsAway) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Deploy(SmallFunction("cold")).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  world_.api.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = minutes(3)});
  EXPECT_EQ(world_.Call("x").code, 200);
  world_.Pass(minutes(1));
  EXPECT_EQ(world_.Call("y").body, "y");
  EXPECT_EQ(world_.Deploy(SmallFunction("new")).code, 503);
  // A call of a cold function waits for the server to come back.
  const http::Response answer = world_.Call("z", "cold");
  EXPECT_EQ(answer.code, 200) << answer.body;
  EXPECT_EQ(world_.Deploy(SmallFunction("new")).code, 200);
}

TEST_F(KubeProviderTest, LeavesNothingOfAFunctionThatCannotBeCreatedCompletely) {
  world_.Start();
  world_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                           .verb = "apply",
                           .resource = "services",
                           .code = 403,
                           .lasts_for = seconds(10)});
  EXPECT_EQ(world_.Deploy(SmallFunction()).code, 403);
  EXPECT_FALSE(world_.Replicas("hello").has_value());
  world_.Pass(seconds(11));
  EXPECT_EQ(world_.Deploy(SmallFunction()).code, 200);
  EXPECT_EQ(world_.Deploy(SmallFunction()).code, 409);
}

TEST_F(KubeProviderTest, AnUpdateKeepsReplicasAndMovesCallsToNewPods) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction(), "", "PUT").code, 404);
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  Function changed = SmallFunction();
  changed.environment["MODE"] = "new";
  ASSERT_EQ(world_.Deploy(changed, "", "PUT").code, 200);
  EXPECT_EQ(world_.Replicas("hello"), 1);
  ASSERT_TRUE(world_.Until([this] {
    const auto view = boost::json::parse(world_.Ask({.target = "/system/function/hello"}).body);
    const auto& list = view.at("Kgpu").at("replicaList").as_array();
    return list.size() == 1 && !list.front().at("outdated").as_bool() &&
           list.front().at("state") == "running";
  }));
  EXPECT_EQ(world_.Call("x").code, 200);
}

TEST_F(KubeProviderTest, AChangeOfScalingAloneRestartsNothing) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  const auto pod = world_.api.store().All("pods").begin()->first;
  http::Request scale{.method = "PUT", .target = "/system/scale-function"};
  scale.body = R"({"ServiceName":"hello","Replicas":"2"})";
  EXPECT_EQ(world_.Ask(scale).code, 200);
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 2; }));
  EXPECT_TRUE(world_.api.store().All("pods").contains(pod)) << "it was restarted";
  world_.Pass(minutes(20));
  EXPECT_EQ(world_.Pods(), 2U) << "two are its minimum now";
  scale.body = R"({"ServiceName":"hello","Replicas":"9"})";
  EXPECT_EQ(world_.Ask(scale).code, 400);
  scale.body = R"({"ServiceName":"hello.team-a","Replicas":"0"})";
  EXPECT_EQ(world_.Ask(scale).code, 400) << "rights are checked by the query's namespace";
}

TEST_F(KubeProviderTest, ScalingUndoesNoDeploymentOfTheSameMoment) {
  KubeProvider& provider = world_.Start().provider();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  Function next = SmallFunction();
  next.environment["VERSION"] = "2";
  int ended = 0;
  provider.Deploy("hello", next, DeployMode::kUpdate,
                  [&ended](const StatusOr<KubeProvider::Notes>& notes) {
                    EXPECT_OK(notes);
                    ++ended;
                  });
  provider.SetReplicas("hello", 2, [&ended](const Status& status) {
    EXPECT_OK(status);
    ++ended;
  });
  ASSERT_TRUE(world_.Until([&] { return ended == 2; }));
  const Function* deployed = provider.Find("hello");
  ASSERT_NE(deployed, nullptr);
  EXPECT_EQ(deployed->environment, next.environment);
  EXPECT_EQ(deployed->scaling.min_replicas, 2);
}

TEST_F(KubeProviderTest, AnotherScalerTakesThePlaceOfTheFirst) {
  ASSERT_OK(world_.api.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                          boost::json::parse(R"({
      "metadata": {"name": "scaledobjects.keda.sh"},
      "spec": {"group": "keda.sh", "scope": "Namespaced",
               "names": {"plural": "scaledobjects", "singular": "scaledobject",
                         "kind": "ScaledObject", "listKind": "ScaledObjectList"},
               "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                             "schema": {"openAPIV3Schema": {"type": "object",
                                 "x-kubernetes-preserve-unknown-fields": true}}}]}})")));
  world_.options.deployer.prometheus_url = "http://prometheus:9090";
  world_.Start();
  const auto has_keda = [this] {
    return world_.api.Find("/apis/keda.sh/v1alpha1/namespaces/fn/scaledobjects/hello") != nullptr;
  };
  const auto has_hpa = [this] {
    return world_.api.Find("/apis/autoscaling/v2/namespaces/fn/horizontalpodautoscalers/hello") !=
           nullptr;
  };
  Function function = SmallFunction();
  function.scaling.min_replicas = 1;
  function.limits.cpu_millis = 500;
  function.scaling.by = ScaledBy::kKeda;
  ASSERT_EQ(world_.Deploy(function).code, 200);
  EXPECT_TRUE(has_keda() && !has_hpa());
  function.scaling.by = ScaledBy::kHpa;
  ASSERT_EQ(world_.Deploy(function, "", "PUT").code, 200);
  EXPECT_TRUE(!has_keda() && has_hpa());
  function.scaling.by = ScaledBy::kKgpu;
  ASSERT_EQ(world_.Deploy(function, "", "PUT").code, 200);
  EXPECT_TRUE(!has_keda() && !has_hpa());
}

TEST_F(KubeProviderTest, DeletesAFunctionAndEndsItsCallsFirst) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  std::optional<http::Responder> held;
  world_.watchdogs.handler = [&held](const http::Request&, const http::Responder& responder) {
    held = responder;
  };
  std::optional<http::Response> answer;
  const auto call = world_.Begin(CallRequest("x"), answer);
  ASSERT_TRUE(world_.Until([&] { return held.has_value(); }));
  EXPECT_EQ(world_.Delete("hello").code, 200);
  EXPECT_EQ(world_.Call("x").code, 404);
  EXPECT_EQ(world_.Delete("hello").code, 404);
  ASSERT_TRUE(held.has_value());
  held->Send({.code = 200, .body = "whole"});
  ASSERT_TRUE(world_.Until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer.value_or(http::Response{.code = 0}).body, "whole");
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; }));
  EXPECT_FALSE(world_.Replicas("hello").has_value());
}

TEST_F(KubeProviderTest, ServesSeveralNamespaces) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Deploy(SmallFunction(), "?namespace=team-a").code, 200);
  EXPECT_EQ(world_.Replicas("hello", "team-a"), 0);
  EXPECT_EQ(world_.Call("x", "hello.team-a").code, 200);
  EXPECT_EQ(world_.Replicas("hello", "team-a"), 1);
  EXPECT_EQ(world_.Replicas("hello", "fn"), 0);
  EXPECT_EQ(world_.Call("x", "hello.fn").code, 200) << "the default namespace has a name, too";
  EXPECT_EQ(world_.Call("x", "hello.other").code, 404);
  EXPECT_EQ(world_.Deploy(SmallFunction(), "?namespace=other").code, 404);
  const auto list =
      boost::json::parse(world_.Ask({.target = "/system/functions?namespace=team-a"}).body);
  ASSERT_EQ(list.at("Functions").as_array().size(), 1U);
  EXPECT_EQ(list.at("Functions").at(0).at("Kgpu").at("namespace"), "team-a");
}

TEST_F(KubeProviderTest, FindsEverythingAfterARestart) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  world_.Kill("gateway-0");
  world_.Pass(minutes(1));
  world_.Start();
  EXPECT_EQ(world_.Call("x").code, 200);
  EXPECT_EQ(world_.Pods(), 1U) << "no second pod was started";
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; })) << "it was idle";
}

TEST_F(KubeProviderTest, GatewaysAgreeOnWhoScalesDown) {
  world_.Start("gateway-0");
  ASSERT_TRUE(world_.Until([this] { return world_.at("gateway-0").provider().is_scaling(); }));
  world_.Start("gateway-1");
  Function function = SmallFunction();
  function.calls.timeout = std::chrono::hours(1);
  ASSERT_EQ(world_.Deploy(function).code, 200);
  std::vector<http::Responder> held;
  world_.watchdogs.handler = [&held](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  // The one that does not decide on fewer starts pods for its own calls.
  std::vector<std::optional<http::Response>> answers(2);
  std::vector<std::unique_ptr<http::Call>> calls;
  calls.reserve(answers.size() + 1);
  for (auto& answer : answers) {
    calls.push_back(world_.Begin(CallRequest("x"), answer, "gateway-1"));
  }
  ASSERT_TRUE(world_.Until([&] { return held.size() == 2; }));
  EXPECT_FALSE(world_.at("gateway-1").provider().is_scaling());
  // The other one knows of these calls, and ends no pod under them, however long they take.
  world_.Pass(minutes(20));
  EXPECT_EQ(world_.Replicas("hello"), 2);
  // Calls of both are added up.
  std::optional<http::Response> third;
  calls.push_back(world_.Begin(CallRequest("x"), third, "gateway-0"));
  ASSERT_TRUE(world_.Until([&] { return held.size() == 3; }));
  EXPECT_TRUE(world_.Until([this] { return world_.Replicas("hello") == 3; }));
  for (const http::Responder& responder : held) {
    responder.Send(http::TextResponse(200, "done"));
  }
  ASSERT_TRUE(world_.Until([&] { return third.has_value() && answers.back().has_value(); }));
  // Another one takes over from one that is killed.
  world_.Kill("gateway-0");
  ASSERT_TRUE(world_.Until([this] { return world_.at("gateway-1").provider().is_scaling(); }));
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; }));
}

TEST_F(KubeProviderTest, CallsOfAGatewayThatWasKilledDoNotKeepPods) {
  world_.Start("gateway-0");
  ASSERT_TRUE(world_.Until([this] { return world_.at("gateway-0").provider().is_scaling(); }));
  world_.Start("gateway-1");
  Function function = SmallFunction();
  function.calls.timeout = std::chrono::hours(1);
  ASSERT_EQ(world_.Deploy(function).code, 200);
  std::vector<http::Responder> held;
  world_.watchdogs.handler = [&held](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  std::optional<http::Response> answer;
  const auto call = world_.Begin(CallRequest("x"), answer, "gateway-1");
  ASSERT_TRUE(world_.Until([&] { return held.size() == 1; }));
  world_.Pass(seconds(5));
  world_.Kill("gateway-1");
  held.clear();
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; }));
}

TEST_F(KubeProviderTest, KeepsNamespacesWithinTheirGpuTime) {
  world_.options.gpu_seconds_per_day = {{"team-a", 300}};
  world_.Start();
  Function function = SmallFunction();
  function.scaling.min_replicas = 1;
  ASSERT_EQ(world_.Deploy(function, "?namespace=team-a").code, 200);
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x", "hello.team-a").code, 200);
  ASSERT_TRUE(world_.Until([this] { return world_.Replicas("hello", "team-a") == 0; }))
      << "five minutes with one GPU";
  const http::Response refused = world_.Call("x", "hello.team-a");
  EXPECT_EQ(refused.code, 429);
  EXPECT_THAT(world_.Ask({.target = "/metrics"}).body,
              HasSubstr("gateway_function_invocation_total{function_name=\"hello.team-a\","
                        "code=\"429\"} 1"));
  EXPECT_EQ(refused.headers.Find("Kgpu-Fault"), "quota");
  EXPECT_THAT(refused.body, HasSubstr("300 GPU seconds"));
  EXPECT_TRUE(refused.headers.Find("Retry-After").has_value());
  EXPECT_EQ(world_.Call("x").code, 200) << "another namespace is not affected";

  // A gateway that starts knows what was used.
  world_.Pass(minutes(2));
  world_.Kill("gateway-0");
  world_.Start();
  EXPECT_EQ(world_.Call("x", "hello.team-a").code, 429);

  // The next day begins by itself.
  ASSERT_TRUE([this] {
    // In steps shorter than its GPU time of a day, which is over soon.
    for (int minute = 0; minute < 30 * 60; ++minute) {
      world_.loop.Advance(minutes(1));
      if (world_.Replicas("hello", "team-a") == 1) {
        return true;
      }
    }
    return false;
  }());
}

TEST_F(KubeProviderTest, ReadsTheLogsOfAllPods) {
  world_.Start();
  Function function = SmallFunction();
  function.environment["SIM_LOG"] = "model loaded";
  ASSERT_EQ(world_.Deploy(function).code, 200);
  EXPECT_EQ(world_.Call("x").code, 200);
  http::Request request{.target = "/system/function-log/hello"};
  request.headers.Add("Accept", "text/plain");
  EXPECT_THAT(world_.Ask(request).body, HasSubstr("model loaded"));
}

// A day with a thousand functions, of which some are called every minute.
TEST_F(KubeProviderTest, StaysFlatForADayWithAThousandFunctions) {
  constexpr int kFunctions = kIsSanitized ? 200 : 1'000;
  constexpr int kHours = kIsSanitized ? 3 : 24;
  for (int i = 0; i < 20; ++i) {
    world_.AddNode(fmt::format("node-{}", i), "8");
  }
  world_.Start();
  for (int i = 0; i < kFunctions; ++i) {
    ASSERT_EQ(world_.Deploy(SmallFunction(fmt::format("f{}", i))).code, 200) << i;
  }
  struct Hour {
    uint64_t requests;
    uint64_t scaled;
    size_t timers;
    size_t pods;
  };
  std::vector<Hour> hours;
  int next = 0;
  for (int hour = 0; hour < kHours; ++hour) {
    world_.api.counters().Reset();
    for (int minute = 0; minute < 60; ++minute) {
      ASSERT_EQ(world_.Call("x", fmt::format("f{}", next)).code, 200);
      next = (next + 7) % kFunctions;
      world_.loop.Advance(minutes(1));
    }
    const apiserver::Counters& counters = world_.api.counters();
    hours.push_back({.requests = counters.Sum("", "", "kgpu-gateway").requests,
                     .scaled = counters.Sum("patch", "deployments.apps", "kgpu-gateway").requests,
                     .timers = world_.loop.timers(),
                     .pods = world_.api.store().All("pods").size()});
  }
  // Each call starts one pod, which ends five minutes later: two writes, whatever the number of
  // functions; the first hour has no pods of the hour before.
  for (size_t i = 1; i < hours.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(hours[i].scaled), 120, 2) << "hour " << i;
    EXPECT_LE(hours[i].requests, hours[1].requests * 11 / 10) << "hour " << i;
    EXPECT_LE(hours[i].timers, hours[1].timers + 20) << "hour " << i;
    EXPECT_LE(hours[i].pods, 8U) << "hour " << i;
  }
  RecordProperty("requests_per_hour", static_cast<int>(hours.back().requests));
}

TEST_F(KubeProviderTest, AFailedPodThatNobodyDeletesChangesNothing) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  ASSERT_TRUE(world_.Until([this] { return world_.api.store().All("pods").empty(); }));
  // As after an eviction: the object stays until somebody deletes it.
  ASSERT_OK(world_.api.Do("POST", "/api/v1/namespaces/fn/pods",
                          boost::json::parse(R"({"metadata":{"name":"evicted","labels":{
          "app.kubernetes.io/managed-by":"kgpu-gateway","kgpu.dev/function":"hello"}},
          "spec":{"containers":[{"name":"function","image":"i","resources":{"limits":{
          "nvidia.com/gpu":"1"}}}]}})")));
  ASSERT_OK(world_.api.Do("PATCH", "/api/v1/namespaces/fn/pods/evicted/status",
                          boost::json::parse(R"({"status":{"phase":"Failed","reason":"Evicted",
                              "message":"the node was low on memory"}})")));
  world_.Pass(seconds(10));
  EXPECT_EQ(world_.Call("again").code, 200);
}

TEST_F(KubeProviderTest, APodIsOfAFunctionOfItsOwnNamespace) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction(), "?namespace=team-a").code, 200);
  // One that claims to be of team-a's function, in another namespace.
  ASSERT_OK(world_.api.Do("POST", "/api/v1/namespaces/fn/pods",
                          boost::json::parse(R"({"metadata":{"name":"thief","labels":{
          "app.kubernetes.io/managed-by":"kgpu-gateway","kgpu.dev/function":"hello.team-a"}},
          "spec":{"containers":[{"name":"function","image":"i"}]}})")));
  world_.Pass(seconds(10));
  const auto view =
      boost::json::parse(world_.Ask({.target = "/system/function/hello?namespace=team-a"}).body);
  EXPECT_TRUE(view.at("Kgpu").at("replicaList").as_array().empty());
}

TEST_F(KubeProviderTest, IdleReplicasDoNotWaitForOneThatFindsNoNode) {
  world_.Start();
  Function function = SmallFunction();
  function.gpu.count = 2;
  function.scaling.idle = seconds(30);
  ASSERT_EQ(world_.Deploy(function).code, 200);
  std::vector<http::Responder> held;
  world_.watchdogs.handler = [&held](const http::Request&, const http::Responder& responder) {
    held.push_back(responder);
  };
  std::vector<std::optional<http::Response>> answers(3);
  std::vector<std::unique_ptr<http::Call>> calls;
  calls.reserve(answers.size() + 1);
  for (auto& answer : answers) {
    calls.push_back(world_.Begin(CallRequest("x"), answer));
  }
  // Four GPUs are enough for two of them.
  ASSERT_TRUE(world_.Until([&] { return held.size() == 2 && world_.Pods() == 3; }));
  world_.watchdogs.handler = nullptr;
  for (const http::Responder& responder : held) {
    responder.Send({.code = 200, .body = "done"});
  }
  ASSERT_TRUE(world_.Until([&] {
    return std::ranges::all_of(answers, [](const auto& answer) { return answer.has_value(); });
  }));
  EXPECT_TRUE(world_.Until([this] { return world_.Pods() == 0; })) << "all GPUs are free again";
}

TEST_F(KubeProviderTest, CallersThatLeaveNeedNoReplica) {
  world_.Start();
  Function function = SmallFunction();
  function.gpu.count = 4;
  ASSERT_EQ(world_.Deploy(function).code, 200);
  // The first one waits in patience; its pod takes a while.
  std::optional<http::Response> first;
  const auto patient = world_.Begin(CallRequest("x"), first);
  world_.loop.RunUntilIdle();
  for (int i = 0; i < 10; ++i) {
    std::optional<http::Response> left;
    auto call = world_.Begin(CallRequest("x"), left);
    world_.Pass(milliseconds(20));
    call.reset();
  }
  world_.Pass(milliseconds(100));
  const auto view = boost::json::parse(world_.Ask({.target = "/system/function/hello"}).body);
  EXPECT_EQ(view.at("Kgpu").at("waiting"), 1);
  EXPECT_TRUE(world_.Until([&] { return first.has_value(); }));
}

TEST_F(KubeProviderTest, ScalingUpIsTriedAgainSoonAfterItFailed) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  world_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                           .verb = "patch",
                           .resource = "deployments.apps",
                           .code = 500,
                           .count = 1});
  http::Request hurried = CallRequest("x");
  hurried.headers.Add("X-Deadline-Ms", "100");
  EXPECT_EQ(world_.Ask(hurried).code, 504);
  const SteadyTime begun = world_.loop.clock().Now();
  EXPECT_EQ(world_.Call("x").code, 200);
  EXPECT_LT(world_.loop.clock().Now() - begun, seconds(5));
}

TEST_F(KubeProviderTest, ForgetsAFunctionThatSomebodyElseDeletes) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  ASSERT_OK(world_.api.Do("DELETE", "/apis/apps/v1/namespaces/fn/deployments/hello", {}));
  ASSERT_TRUE(world_.Until([this] { return world_.Call("x").code == 404; }));
  EXPECT_THAT(world_.Ask({.target = "/metrics"}).body, Not(HasSubstr("\"hello\"")));
}

TEST_F(KubeProviderTest, IsQuietAtRest) {
  world_.Start();
  ASSERT_EQ(world_.Deploy(SmallFunction()).code, 200);
  ASSERT_EQ(world_.Call("x").code, 200);
  ASSERT_TRUE(world_.Until([this] { return world_.Pods() == 0; }));
  world_.Pass(minutes(2));
  const uint64_t others = world_.api.counters().Sum("", "", "kgpu-gateway").requests -
                          world_.api.counters().Sum("watch", "", "kgpu-gateway").requests;
  const uint64_t before = world_.api.counters().Sum("", "", "kgpu-gateway").requests;
  world_.loop.Advance(std::chrono::hours(1));
  const uint64_t after = world_.api.counters().Sum("", "", "kgpu-gateway").requests;
  // Six watches that the server ends every few minutes; nothing else.
  EXPECT_EQ(world_.api.counters().Sum("", "", "kgpu-gateway").requests -
                world_.api.counters().Sum("watch", "", "kgpu-gateway").requests,
            others);
  EXPECT_LE(after - before, 100U);
}

}  // namespace
}  // namespace kgpu::functions
