#include "src/cli/run/run_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;
using run::Prospect;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RunJudgeTest : public ::testing::Test {
 protected:
  void AddNode(const char* name, const char* gpus, const char* more = "") {
    Make("/api/v1/nodes",
         fmt::format(R"({{"metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}"}}}},
             "spec":{{{2}}},"status":{{"capacity":{{"nvidia.com/gpu":"{1}","cpu":"8",
             "memory":"32Gi","pods":"110"}},"allocatable":{{"nvidia.com/gpu":"{1}","cpu":"8",
             "memory":"32Gi","pods":"110"}},
             "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                     name, gpus, more));
  }
  void Make(const char* collection, const std::string& body) {
    ASSERT_OK(cluster_.api.Do("POST", collection, json::parse(body)));
  }
  run::Judgement Judge(int gpus, const char* more = "") {
    return JudgePod([this](kube::ApiRequest request) { return cluster_.client.Send(request); },
                    json::parse(fmt::format(
                        R"({{"apiVersion":"v1","kind":"Pod",
                        "metadata":{{"name":"train","namespace":"default"}},
                        "spec":{{{}"containers":[{{"name":"c","image":"i",
                        "resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}}]}}}})",
                        more, gpus)));
  }

  kube::TestCluster cluster_;
};

TEST_F(RunJudgeTest, APodThatFitsIsAccepted) {
  AddNode("n1", "8");
  const run::Judgement judgement = Judge(8);
  EXPECT_EQ(judgement.prospect, Prospect::kFits) << judgement.text;
}

TEST_F(RunJudgeTest, GpusThatOthersUseAreBusy) {
  AddNode("n1", "2");
  Make("/api/v1/namespaces/default/pods",
       R"({"metadata":{"name":"other"},"spec":{"nodeName":"n1","containers":[{"name":"c",
           "image":"i","resources":{"limits":{"nvidia.com/gpu":"2"}}}]}})");
  const run::Judgement judgement = Judge(1);
  EXPECT_EQ(judgement.prospect, Prospect::kBusy) << judgement.text;
  EXPECT_THAT(judgement.text, HasSubstr("default/other"));
}

TEST_F(RunJudgeTest, ACordonPasses) {
  AddNode("n1", "2", R"("unschedulable":true)");
  EXPECT_EQ(Judge(1).prospect, Prospect::kBusy);
}

TEST_F(RunJudgeTest, AQuotaIsNamedRatherThanTheNodes) {
  AddNode("n1", "8");
  Make("/api/v1/namespaces/default/resourcequotas",
       R"({"metadata":{"name":"q"},"spec":{"hard":{"requests.nvidia.com/gpu":"1"}},
           "status":{"hard":{"requests.nvidia.com/gpu":"1"},
                     "used":{"requests.nvidia.com/gpu":"0"}}})");
  ASSERT_OK(cluster_.api.Do("PATCH", "/api/v1/namespaces/default/resourcequotas/q/status",
                            {{"status",
                              {{"hard", {{"requests.nvidia.com/gpu", "1"}}},
                               {"used", {{"requests.nvidia.com/gpu", "0"}}}}}}));
  const run::Judgement judgement = Judge(2);
  EXPECT_EQ(judgement.prospect, Prospect::kBusy) << judgement.text;
  EXPECT_THAT(judgement.own, HasSubstr("requests.nvidia.com/gpu"));
  AddNode("n2", "1");
  EXPECT_EQ(Judge(1).own, "");
}

// Of a Job that cannot make its pod: its own name stands for the pod's.
TEST_F(RunJudgeTest, ARefusedPodIsExplainedByItsMaker) {
  const auto ask = [this](kube::ApiRequest request) { return cluster_.client.Send(request); };
  EXPECT_EQ(ExplainPod(ask, "default", "r3"), "") << "that it does not exist yet is no reason";
  Make("/apis/events.k8s.io/v1/namespaces/default/events",
       R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","type":"Warning",
           "reason":"FailedCreate","action":"Create","reportingController":"k8s.io/job-controller",
           "reportingInstance":"m","note":"pods \"r3-x\" is forbidden: exceeded quota: q",
           "regarding":{"kind":"Job","name":"r3","namespace":"default","uid":"1"}})");
  EXPECT_THAT(ExplainPod(ask, "default", "r3"),
              AllOf(HasSubstr("no pod is made"), HasSubstr("exceeded quota: q")));
}

TEST_F(RunJudgeTest, MoreThanAnyNodeHasIsNever) {
  AddNode("n1", "2");
  const run::Judgement judgement = Judge(3);
  EXPECT_EQ(judgement.prospect, Prospect::kNever) << judgement.text;
  EXPECT_THAT(judgement.text, HasSubstr("n1: gpu-too-few"));
}

TEST_F(RunJudgeTest, ALabelThatNoNodeHasIsNever) {
  AddNode("n1", "2");
  const run::Judgement judgement = Judge(1, R"("affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[
      {"key":"kgpu.dev/gpu.model.H100.count","operator":"Exists"}]}]}}},)");
  EXPECT_EQ(judgement.prospect, Prospect::kNever) << judgement.text;
}

TEST_F(RunJudgeTest, WithoutNodesItIsNever) {
  EXPECT_EQ(Judge(1).prospect, Prospect::kNever);
}

TEST_F(RunJudgeTest, NodesThatMayNotBeReadAreUnknown) {
  AddNode("n1", "2");
  cluster_.api.faults().Add(
      {.kind = apiserver::FaultKind::kAnswer, .resource = "nodes", .code = 403});
  EXPECT_EQ(Judge(1).prospect, Prospect::kUnknown);
}

}  // namespace
}  // namespace kgpu::cli
