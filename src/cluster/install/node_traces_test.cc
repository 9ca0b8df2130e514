#include "src/cluster/install/node_traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeTracesTest : public ::testing::Test {
 protected:
  NodeTracesTest() {
    for (const char* name : {"n1", "n2"}) {
      EXPECT_OK(
          cluster_.api.Do("POST", "/api/v1/nodes",
                          {{"metadata", {{"name", name}, {"labels", {{"mine", "1"}}}}},
                           {"spec", {{"taints", {{{"key", "mine"}, {"effect", "NoSchedule"}}}}}}}));
    }
    before_ = cluster_.api.Dump();
  }
  // As our programs write.
  void Apply(const std::string& manager, const std::string& subresource, json::object fields) {
    json::object node{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}};
    for (auto& field : fields) {
      if (field.key() == "metadata") {
        for (auto& part : field.value().as_object()) {
          node["metadata"].as_object()[part.key()] = part.value();
        }
      } else {
        node[field.key()] = field.value();
      }
    }
    const auto request = kube::ApplyRequest(kube::kNodes.Object("", "n1", subresource), node, true,
                                            {.field_manager = manager});
    ASSERT_OK(request);
    ASSERT_OK(cluster_.client.Send(*request));
  }
  void Patch(const std::string& manager, const json::value& patch) {
    ASSERT_OK(cluster_.client.Send(kube::PatchRequest(kube::kNodes.Object("", "n1"),
                                                      kube::PatchType::kMerge, patch,
                                                      {.field_manager = manager})));
  }
  std::vector<ClearedNode> Clear(bool is_dry_run = false) {
    const auto cleared = ClearTraces(cluster_.client, {.is_dry_run = is_dry_run});
    EXPECT_OK(cleared);
    return cleared.ok() ? *cleared : std::vector<ClearedNode>();
  }
  static json::object Condition(const char* type) {
    return {{"status",
             {{"conditions",
               {{{"type", type}, {"status", "True"}, {"reason", "R"}, {"message", ""}}}}}}};
  }

  kube::TestCluster cluster_;
  std::string before_;
};

TEST_F(NodeTracesTest, TakesEverythingOfOurProgramsAndNothingElse) {
  Apply("kgpu", "",
        {{"metadata",
          {{"labels", {{"nvidia.com/gpu.count", "8"}}},
           {"annotations", {{"kgpu.dev/taints", "a:NoSchedule"}}}}}});
  Apply("kgpu-gate", "status", Condition("GPUReady"));
  Apply("kgpu-health", "status", Condition("GPUHealthy"));
  Apply("kgpu-config", "status", Condition("GPUConfigured"));
  Apply("kgpu-controller", "", {{"metadata", {{"labels", {{"kgpu.dev/quarantine", "yes"}}}}}});
  Patch("kgpu-controller", {{"metadata", {{"annotations", {{"kgpu.dev/upgrade", "draining"}}}}},
                            {"spec",
                             {{"unschedulable", true},
                              {"taints",
                               {{{"key", "mine"}, {"effect", "NoSchedule"}},
                                {{"key", "kgpu.dev/quarantine"}, {"effect", "NoExecute"}}}}}}});
  const std::vector<ClearedNode> cleared = Clear();
  ASSERT_THAT(cleared, SizeIs(1));
  EXPECT_EQ(cleared[0].name, "n1");
  EXPECT_OK(cleared[0].status);
  EXPECT_THAT(cleared[0].changes, Contains("label - nvidia.com/gpu.count"));
  EXPECT_THAT(cleared[0].changes, Contains("taint - kgpu.dev/quarantine:NoExecute"));
  const json::value node = cluster_.At("/api/v1/nodes/n1");
  EXPECT_EQ(kube::FindField(node, {"metadata", "annotations"}), nullptr);
  EXPECT_EQ(json::serialize(*kube::FindField(node, {"metadata", "labels"})), R"({"mine":"1"})");
  EXPECT_EQ(json::serialize(*kube::FindField(node, {"spec"})),
            R"({"taints":[{"key":"mine","effect":"NoSchedule"}]})");
  const json::value* conditions = kube::FindField(node, {"status", "conditions"});
  EXPECT_TRUE(conditions == nullptr || conditions->get_array().empty());
  EXPECT_THAT(Clear(), IsEmpty());
}

TEST_F(NodeTracesTest, WhatAPersonSetStays) {
  Patch("kgpu-verb", {{"metadata", {{"labels", {{"kgpu.dev/config", "small"}}}}}});
  Patch("kubectl-label", {{"metadata", {{"labels", {{"kgpu.dev/pool", "a"}}}}}});
  EXPECT_THAT(Clear(), IsEmpty());
}

TEST_F(NodeTracesTest, ADryRunNamesAndWritesNothing) {
  Apply("kgpu", "", {{"metadata", {{"labels", {{"nvidia.com/gpu.count", "8"}}}}}});
  const std::string with = cluster_.api.Dump();
  EXPECT_THAT(Clear(true), SizeIs(1));
  EXPECT_EQ(cluster_.api.Dump(), with);
  EXPECT_THAT(Clear(), SizeIs(1));
  EXPECT_EQ(cluster_.api.Dump(), before_);
}

TEST_F(NodeTracesTest, ARefusedNodeKeepsNoOtherFromBeingCleared) {
  Apply("kgpu", "", {{"metadata", {{"labels", {{"nvidia.com/gpu.count", "8"}}}}}});
  cluster_.api.faults().Add(
      {.kind = apiserver::FaultKind::kAnswer, .verb = "patch", .resource = "nodes", .code = 403});
  cluster_.api.faults().Add(
      {.kind = apiserver::FaultKind::kAnswer, .verb = "apply", .resource = "nodes", .code = 403});
  const std::vector<ClearedNode> cleared = Clear();
  ASSERT_THAT(cleared, SizeIs(1));
  EXPECT_THAT(cleared[0].status, StatusIs(StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace kgpu::install
