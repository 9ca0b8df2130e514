#include "src/kube/objects/readiness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/kube/api/json.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ReadinessCase {
  const char* object;
  Readiness readiness;
};

class ReadinessTest : public ::testing::TestWithParam<ReadinessCase> {};

TEST_P(ReadinessTest, FollowsTheStatus) {
  const Readiness is = ReadinessOf(json::parse(GetParam().object));
  EXPECT_EQ(is.is_ready, GetParam().readiness.is_ready);
  EXPECT_EQ(is.is_failed, GetParam().readiness.is_failed);
  EXPECT_EQ(is.text, GetParam().readiness.text);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, ReadinessTest,
    ::testing::Values(
        ReadinessCase{R"({"kind":"DaemonSet","metadata":{"generation":2},
                          "status":{"observedGeneration":1,"desiredNumberScheduled":1,
                                    "updatedNumberScheduled":1,"numberAvailable":1}})",
                      {.text = "waits for the DaemonSet controller"}},
        ReadinessCase{R"({"kind":"DaemonSet","metadata":{"generation":1},
                          "status":{"observedGeneration":1,"desiredNumberScheduled":3,
                                    "updatedNumberScheduled":2,"numberAvailable":3}})",
                      {.text = "2 of 3 pods are updated"}},
        ReadinessCase{R"({"kind":"DaemonSet","metadata":{"generation":1},
                          "status":{"observedGeneration":1,"desiredNumberScheduled":3,
                                    "updatedNumberScheduled":3,"numberAvailable":1}})",
                      {.text = "1 of 3 pods are available"}},
        ReadinessCase{R"({"kind":"DaemonSet","metadata":{"generation":1},
                          "status":{"observedGeneration":1,"desiredNumberScheduled":3,
                                    "updatedNumberScheduled":3,"numberAvailable":3}})",
                      {.is_ready = true, .text = "3 of 3 pods are available"}},
        ReadinessCase{R"({"kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":2},
                          "status":{"observedGeneration":1,"replicas":3,"updatedReplicas":2,
                                    "availableReplicas":2}})",
                      {.text = "old pods stop"}},
        ReadinessCase{R"({"kind":"Deployment","metadata":{"generation":1},"spec":{"replicas":2},
                          "status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,
                                    "availableReplicas":2}})",
                      {.is_ready = true, .text = "2 of 2 pods are available"}},
        ReadinessCase{R"({"kind":"Deployment","metadata":{"generation":1},
                          "status":{"observedGeneration":1,"conditions":[
                            {"type":"Progressing","status":"False",
                             "reason":"ProgressDeadlineExceeded","message":"took too long"}]}})",
                      {.is_failed = true, .text = "took too long"}},
        ReadinessCase{R"({"kind":"Job","status":{"conditions":[{"type":"Failed","status":"True",
                          "reason":"BackoffLimitExceeded","message":"3 tries"}]}})",
                      {.is_failed = true, .text = "BackoffLimitExceeded: 3 tries"}},
        ReadinessCase{R"({"kind":"Job","status":{"conditions":[{"type":"Complete",
                          "status":"True","reason":"R"}]}})",
                      {.is_ready = true, .text = "complete"}},
        ReadinessCase{R"({"kind":"Pod","status":{"phase":"Running","conditions":[
                          {"type":"Ready","status":"True"}]}})",
                      {.is_ready = true, .text = "Running"}},
        ReadinessCase{R"({"kind":"Pod","status":{"phase":"Failed","reason":"Evicted",
                          "message":"no memory"}})",
                      {.is_failed = true, .text = "Evicted: no memory"}},
        ReadinessCase{R"({"kind":"Pod"})", {.text = "Pending"}},
        ReadinessCase{R"({"kind":"ConfigMap"})", {.is_ready = true, .text = "exists"}}));

TEST(ProblemOfPodTest, NamesTheFirstContainerThatCannotRun) {
  EXPECT_EQ(ProblemOfPod(json::parse(R"({"status":{"containerStatuses":[
      {"name":"a","state":{"running":{}}},
      {"name":"b","state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]}})")),
            "container b: ImagePullBackOff: no such image");
  EXPECT_EQ(ProblemOfPod(json::parse(R"({"status":{"initContainerStatuses":[
      {"name":"i","state":{"waiting":{"reason":"CrashLoopBackOff"}},
       "lastState":{"terminated":{"exitCode":6,"message":"no driver\n"}}}]}})")),
            "container i: CrashLoopBackOff; the last one ended with code 6: no driver");
  EXPECT_EQ(ProblemOfPod(json::parse(R"({"status":{"conditions":[{"type":"PodScheduled",
      "status":"False","reason":"Unschedulable","message":"0/3 nodes"}]}})")),
            "Unschedulable: 0/3 nodes");
  EXPECT_EQ(ProblemOfPod(json::parse(R"({"status":{"containerStatuses":[
      {"name":"a","state":{"waiting":{"reason":"ContainerCreating"}}}]}})")),
            "");
}

class WaitUntilReadyTest : public ::testing::Test {
 protected:
  WaitUntilReadyTest() {
    EXPECT_OK(cluster_.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "kgpu"}}}}));
    const json::object labels{{"app", "a"}};
    const json::object spec{{"containers", {{{"name", "c"}, {"image", "i"}}}}};
    EXPECT_OK(
        cluster_.api.Do("POST", "/apis/apps/v1/namespaces/kgpu/daemonsets",
                        {{"metadata", {{"name", "a"}}},
                         {"spec",
                          {{"selector", {{"matchLabels", labels}}},
                           {"template", {{"metadata", {{"labels", labels}}}, {"spec", spec}}}}}}));
    EXPECT_OK(
        cluster_.api.Do("POST", "/api/v1/namespaces/kgpu/pods",
                        {{"metadata", {{"name", "a-1"}, {"labels", labels}}}, {"spec", spec}}));
  }
  void SetAvailable(int available) {
    EXPECT_OK(cluster_.api.Do("PATCH", kPath + "/status",
                              {{"status",
                                {{"observedGeneration", 1},
                                 {"desiredNumberScheduled", 1},
                                 {"currentNumberScheduled", 1},
                                 {"numberMisscheduled", 0},
                                 {"numberReady", available},
                                 {"updatedNumberScheduled", 1},
                                 {"numberAvailable", available}}}}));
  }
  Status WaitFor(seconds time) {
    return WaitUntilReady(
        cluster_.client, kinds_, {{"apps/v1", "DaemonSet", "kgpu", "a"}},
        {.time = time, .on_change = [this](const ObjectRef&, const Readiness& is) {
           texts_.push_back(is.text);
         }});
  }

  const std::string kPath = "/apis/apps/v1/namespaces/kgpu/daemonsets/a";
  TestCluster cluster_;
  Kinds kinds_{cluster_.client};
  std::vector<std::string> texts_;
};

TEST_F(WaitUntilReadyTest, ReportsProgressUntilAllAreAvailable) {
  cluster_.loop.After(seconds(5), [this] { SetAvailable(0); });
  cluster_.loop.After(seconds(20), [this] { SetAvailable(1); });
  EXPECT_OK(WaitFor(seconds(60)));
  EXPECT_THAT(texts_, ElementsAre("waits for the DaemonSet controller", "0 of 1 pods are available",
                                  "1 of 1 pods are available"));
}

TEST_F(WaitUntilReadyTest, ATimeOutNamesThePodsProblem) {
  SetAvailable(0);
  ASSERT_OK(cluster_.api.Do(
      "PATCH", "/api/v1/namespaces/kgpu/pods/a-1/status",
      {{"status",
        {{"containerStatuses",
          {{{"name", "c"},
            {"image", "i"},
            {"imageID", ""},
            {"ready", false},
            {"restartCount", 0},
            {"state", {{"waiting", {{"reason", "ErrImagePull"}, {"message", "denied"}}}}}}}}}}}));
  EXPECT_THAT(WaitFor(seconds(10)),
              StatusIs(StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("DaemonSet kgpu/a is not ready: 0 of 1 pods"),
                             HasSubstr("pod a-1: container c: ErrImagePull: denied"))));
}

TEST_F(WaitUntilReadyTest, WithoutAPodsProblemItNamesTheNewestWarning) {
  SetAvailable(0);
  ASSERT_OK(cluster_.api.Do(
      "POST", "/apis/events.k8s.io/v1/namespaces/kgpu/events",
      {{"metadata", {{"name", "e"}}},
       {"eventTime", "2026-01-01T00:00:00.000000Z"},
       {"type", "Warning"},
       {"reason", "FailedCreate"},
       {"action", "Create"},
       {"note", "forbidden by policy"},
       {"reportingController", "daemonset-controller"},
       {"reportingInstance", "x"},
       {"regarding", {{"kind", "DaemonSet"}, {"name", "a"}, {"namespace", "kgpu"}}}}));
  EXPECT_THAT(WaitFor(seconds(3)), StatusIs(StatusCode::kDeadlineExceeded,
                                            HasSubstr("FailedCreate: forbidden by policy")));
}

TEST_F(WaitUntilReadyTest, AnObjectThatDoesNotExistIsAnError) {
  ASSERT_OK(cluster_.api.Do("DELETE", kPath, json::object()));
  EXPECT_THAT(WaitFor(seconds(10)), StatusIs(StatusCode::kNotFound, HasSubstr("DaemonSet kgpu/a")));
}

}  // namespace
}  // namespace kgpu::kube
