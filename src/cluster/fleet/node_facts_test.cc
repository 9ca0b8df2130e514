#include "src/cluster/fleet/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>

namespace kgpu::fleet {
namespace {

namespace json = boost::json;

json::value Node() {
  return json::parse(R"({
    "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "9", "labels": {
        "pool": "a", "other": "b", "nvidia.com/gpu.present": "true",
        "nvidia.com/cuda.driver-version.full": "535.104.05"},
      "annotations": {"kgpu.dev/upgrade": "{}", "x": "y"}},
    "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true,
      "taints": [{"key": "kgpu.dev/quarantined", "effect": "NoSchedule", "later": 1}]},
    "status": {"images": [1, 2, 3], "allocatable": {"cpu": "8", "nvidia.com/gpu": "4"},
      "conditions": [{"type": "Ready", "status": "True", "message": "kubelet"},
        {"type": "DiskPressure", "status": "False"},
        {"type": "GPUReady", "status": "False", "reason": "DriverMissing", "message": "none"}]}})");
}

TEST(NodeFactsTest, ATrimmedNodeHasWhatIsRead) {
  json::value node = Node();
  TrimNode(node, {"pool"});
  const NodeFacts facts = ReadNode(node);
  EXPECT_EQ(facts.name, "n1");
  EXPECT_EQ(facts.version, "9");
  EXPECT_EQ(facts.labels.at("pool"), "a");
  EXPECT_FALSE(facts.labels.contains("other"));
  EXPECT_EQ(facts.driver, "535.104.05");
  EXPECT_EQ(facts.taints, R"([{"key":"kgpu.dev/quarantined","effect":"NoSchedule","later":1}])");
  EXPECT_TRUE(facts.is_ready && facts.is_unschedulable && facts.is_tainted && facts.has_gpus);
  EXPECT_EQ(facts.gpu_ready.reason, "DriverMissing");
  EXPECT_EQ(facts.upgrade, "{}");
  EXPECT_EQ(facts.resource, "nvidia.com/gpu");
  EXPECT_EQ(facts.gpus, 4U);
  EXPECT_TRUE(IsUnavailable(facts));
  EXPECT_EQ(json::serialize(node).find("images"), std::string::npos);
  // Trimmed again, as an object that comes back from a write, it is the same.
  json::value again = node;
  TrimNode(again, {"pool"});
  EXPECT_EQ(again, node);
}

TEST(NodeFactsTest, StrangeNodesAreReadToo) {
  for (const char* text : {"{}", "[]", R"({"metadata": 3, "spec": [], "status": "x"})",
                           R"({"status": {"conditions": [1, {"type": 2}], "allocatable": []}})"}) {
    json::value node = json::parse(text);
    TrimNode(node, {});
    EXPECT_EQ(ReadNode(node).name, "");
  }
}

json::value Pod(std::string_view more) {
  return json::parse(
      fmt::format(R"({{"metadata": {{"name": "p", "namespace": "s", "uid": "u"}}, {}}})", more));
}

TEST(PodFactsTest, PodsWithGpusAreRelevant) {
  const json::value gpu = Pod(
      R"("spec": {"containers": [{"resources": {"limits": {"nvidia.com/mig-1g.10gb": "2"}}}]})");
  EXPECT_TRUE(IsRelevantPod(gpu));
  EXPECT_TRUE(IsRelevantPod(Pod(R"("spec": {"resourceClaims": [{"name": "c"}]})")));
  EXPECT_FALSE(
      IsRelevantPod(Pod(R"("spec": {"containers": [{"resources": {"limits": {"cpu": "2"}}}]})")));
  EXPECT_TRUE(IsRelevantPod(
      json::parse(R"({"metadata": {"labels": {"app.kubernetes.io/name": "kgpu-driver"}}})")));
}

TEST(PodFactsTest, ATrimmedPodHasWhatIsRead) {
  json::value pod = json::parse(R"({
    "metadata": {"name": "p", "namespace": "s", "uid": "u", "deletionTimestamp": "2026",
      "ownerReferences": [{"kind": "Job"}], "labels": {"kgpu.dev/role": "install"},
      "annotations": {"kubernetes.io/config.mirror": "x"}},
    "spec": {"nodeName": "n", "restartPolicy": "Never",
      "containers": [{"resources": {"limits": {"nvidia.com/gpu": 3}}}]},
    "status": {"phase": "Failed", "conditions": [{"type": "Ready", "status": "True"}],
      "containerStatuses": [{"state": {"terminated": {"exitCode": 8}}}]}})");
  TrimPod(pod);
  const PodFacts facts = ReadPod(pod);
  EXPECT_EQ(facts.space + "/" + facts.name + "/" + facts.uid + "/" + facts.node, "s/p/u/n");
  EXPECT_EQ(facts.role, "install");
  EXPECT_EQ(facts.owner, PodOwner::kJob);
  EXPECT_EQ(facts.gpus, (std::map<std::string, uint64_t, std::less<>>{{"nvidia.com/gpu", 3}}));
  EXPECT_EQ(facts.exit_code, 8);
  EXPECT_EQ(facts.rejection, "");
  EXPECT_TRUE(facts.is_ready && facts.ends_by_itself && facts.is_mirror && facts.is_terminating);
}

TEST(PodFactsTest, GpusCountAsTheSchedulerReservesThem) {
  json::value pod = Pod(R"("spec": {"resourceClaims": [{"name": "c"}], "initContainers": [
      {"resources": {"limits": {"nvidia.com/gpu": 2}}},
      {"restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": 1}}},
      {"resources": {"limits": {"nvidia.com/gpu": 3, "nvidia.com/mig-1g.10gb": 1}}}],
    "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}},
      {"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "2"}}}]})");
  TrimPod(pod);
  const PodFacts facts = ReadPod(pod);
  EXPECT_EQ(facts.gpus, (std::map<std::string, uint64_t, std::less<>>{
                            {"nvidia.com/gpu", 4}, {"nvidia.com/mig-1g.10gb", 1}}));
  EXPECT_EQ(facts.claims, 1U);
  EXPECT_TRUE(facts.HoldsGpus());
}

TEST(PodFactsTest, APodThatTheKubeletRejectedSaysWhy) {
  json::value pod =
      Pod(R"("spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}]},
    "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "Allocate failed"})");
  TrimPod(pod);
  const PodFacts facts = ReadPod(pod);
  EXPECT_EQ(facts.WhyFailed(),
            "the kubelet rejected pod p: UnexpectedAdmissionError: Allocate failed");
  EXPECT_TRUE(facts.MayHaveOnlyOne("nvidia.com/gpu"));
  EXPECT_FALSE(facts.MayHaveOnlyOne("nvidia.com/other"));
}

}  // namespace
}  // namespace kgpu::fleet
