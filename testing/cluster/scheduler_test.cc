#include "testing/cluster/cluster_fixture.h"

namespace kgpu::simcluster {
namespace {

using ::testing::ElementsAre;

using SchedulerTest = ClusterTest;

TEST_F(SchedulerTest, GivesPodsNodesWithTheirResources) {
  AddGpuNode("n1", "2");
  AddGpuNode("n2", "4");
  CreateGpuPod("small", 2);
  CreateGpuPod("large", 4);
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Ready", "n2 Ready"));
}

TEST_F(SchedulerTest, SaysWhyNoNodeFits) {
  AddGpuNode("n1");
  AddGpuNode("n2");
  AddGpuNode("n3");
  CreateGpuPod("p", 9);
  Pass();
  EXPECT_EQ(WhyUnscheduled("p"), "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.");
  EXPECT_EQ(api_.store().All("events").size(), 1U);
}

TEST_F(SchedulerTest, CountsEachReason) {
  AddGpuNode("n1", "1");
  AddGpuNode("n2", "8");
  AddGpuNode("n3", "8", {{"pool", "a"}});
  Patch("/api/v1/nodes/n2",
        R"({"spec":{"taints":[{"key":"a","value":"b","effect":"NoSchedule"}]}})");
  Patch("/api/v1/nodes/n3", R"({"spec":{"unschedulable":true}})");
  CreateGpuPod("p", 2, R"(,"nodeSelector":{"pool":"a"})");
  Pass();
  EXPECT_EQ(WhyUnscheduled("p"),
            "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
            "1 node(s) had untolerated taint {a: b}, 1 node(s) were unschedulable.");
}

TEST_F(SchedulerTest, WithoutNodesThereIsNothingToCount) {
  CreateGpuPod("p", 1);
  Pass();
  EXPECT_EQ(WhyUnscheduled("p"), "no nodes available to schedule pods");
}

TEST_F(SchedulerTest, PodThatIsDeletedFreesItsResources) {
  AddGpuNode("n1", "2");
  CreateGpuPod("first", 2);
  Pass();
  CreateGpuPod("second", 2);
  Pass();
  EXPECT_NE(WhyUnscheduled("second"), "");
  ASSERT_OK(api_.Do("DELETE", "/api/v1/namespaces/default/pods/first", nullptr));
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n1 Ready"));
}

TEST_F(SchedulerTest, PodThatIsOverFreesItsResources) {
  AddGpuNode("n1", "1");
  for (const char* name : {"first", "second"}) {
    CreatePod(name, R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i",
        "env":[{"name":"SIM_RUN_SECONDS","value":"3"}],
        "resources":{"limits":{"nvidia.com/gpu":1}}}]})");
  }
  Pass(std::chrono::seconds(2));
  EXPECT_THAT(Places(), ElementsAre(" Pending", "n1 Ready"));
  Pass(std::chrono::seconds(20));
  EXPECT_THAT(Places(), ElementsAre("n1 Succeeded", "n1 Succeeded"));
}

TEST_F(SchedulerTest, RequiredAffinityIsMet) {
  AddGpuNode("n1", "8", {{"nvidia.com/gpu.memory", "40960"}});
  AddGpuNode("n2", "8", {{"nvidia.com/gpu.memory", "81920"}});
  CreateGpuPod("p", 1, R"(,"affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[
      {"key":"nvidia.com/gpu.memory","operator":"Gt","values":["40960"]}]}]}}})");
  Pass();
  EXPECT_THAT(Places(), ElementsAre("n2 Ready"));
}

TEST_F(SchedulerTest, PreferredAffinityDecidesAmongThoseThatFit) {
  AddGpuNode("n1", "8", {{"model", "a"}});
  AddGpuNode("n2", "1", {{"model", "b"}});
  for (const char* name : {"first", "second"}) {
    CreateGpuPod(name, 1, R"(,"affinity":{"nodeAffinity":{
        "preferredDuringSchedulingIgnoredDuringExecution":[{"weight":10,"preference":{
        "matchExpressions":[{"key":"model","operator":"In","values":["b"]}]}}]}})");
    Pass();
  }
  EXPECT_THAT(Places(), ElementsAre("n1 Ready", "n2 Ready"));
}

TEST_F(SchedulerTest, HigherPriorityIsFirst) {
  CreateGpuPod("a-low", 1);
  CreateGpuPod("b-high", 1, R"(,"priority":100)");
  AddGpuNode("n1", "1");
  Pass();
  EXPECT_EQ(WhyUnscheduled("b-high"), "");
  EXPECT_NE(WhyUnscheduled("a-low"), "");
}

}  // namespace
}  // namespace kgpu::simcluster
