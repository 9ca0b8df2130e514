#include "src/node/object/seen_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::node {
namespace {

using ::testing::ElementsAre;

constexpr char kNode[] = R"({
  "apiVersion": "v1", "kind": "Node",
  "metadata": {
    "name": "n1", "uid": "u1", "resourceVersion": "42",
    "labels": {"nvidia.com/gpu.count": "8", "team": "ml"},
    "annotations": {"kgpu.dev/taints": "a:NoSchedule"},
    "managedFields": [
      {"manager": "kgpu", "operation": "Apply",
       "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:nvidia.com/gpu.count": {}},
                                   "f:annotations": {"f:kgpu.dev/taints": {}}}}},
      {"manager": "kubectl-label", "operation": "Update",
       "fieldsV1": {"f:metadata": {"f:labels": {"f:team": {}}}}},
      {"manager": "kubelet", "operation": "Update", "subresource": "status",
       "fieldsV1": {"f:metadata": {"f:labels": {"f:odd": {}}}}}]},
  "spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]},
  "status": {
    "capacity": {"cpu": "4", "nvidia.com/gpu": "8"},
    "allocatable": {"memory": "1Gi", "nvidia.com/gpu": "7"},
    "conditions": [
      {"type": "Ready", "status": "True"},
      {"type": "GPUReady", "status": "False", "reason": "R", "message": "M",
       "lastTransitionTime": "2026-01-02T03:04:05Z"}]}})";

TEST(SeenNodeTest, ReadsWhatItCarriesAndWhoSetIt) {
  const StatusOr<SeenNode> node = ReadNode(boost::json::parse(kNode));
  ASSERT_OK(node);
  EXPECT_EQ(node->name, "n1");
  EXPECT_EQ(node->uid, "u1");
  EXPECT_EQ(node->version, "42");
  EXPECT_THAT(node->labels.ours, ElementsAre("nvidia.com/gpu.count"));
  EXPECT_THAT(node->labels.others,
              ElementsAre(std::pair("team", std::set<std::string>{"kubectl-label"})));
  EXPECT_THAT(node->annotations.ours, ElementsAre("kgpu.dev/taints"));
  EXPECT_THAT(node->capacity, ElementsAre(std::pair("nvidia.com/gpu", "8")));
  EXPECT_THAT(node->allocatable, ElementsAre(std::pair("nvidia.com/gpu", "7")));
}

TEST(SeenNodeTest, KeepsWhatItDoesNotKnowOfATaint) {
  const StatusOr<SeenNode> node = ReadNode(boost::json::parse(kNode));
  ASSERT_OK(node);
  ASSERT_EQ(node->taints.size(), 1U);
  EXPECT_EQ(node->taints[0].taint, (labels::Taint{"a", "", "NoExecute"}));
  EXPECT_THAT(node->taints[0].json, ::testing::HasSubstr("timeAdded"));
}

TEST(SeenNodeTest, ReadsTheConditionOfOurType) {
  const StatusOr<SeenNode> node = ReadNode(boost::json::parse(kNode));
  ASSERT_OK(node);
  const std::optional<SeenCondition> condition = node->gpu_ready;
  ASSERT_TRUE(condition.has_value());
  EXPECT_EQ(condition->status, "False");
  EXPECT_EQ(condition->reason, "R");
  EXPECT_EQ(condition->since, WallTime(std::chrono::seconds(1'767'323'045)));
}

TEST(SeenNodeTest, TakesWhatIsMalformedForNotThere) {
  const StatusOr<SeenNode> node = ReadNode(boost::json::parse(
      R"({"metadata": {"name": "n1", "labels": [], "managedFields": {}},
          "spec": {"taints": "no"}, "status": {"conditions": [{"type": "GPUReady"}]}})"));
  ASSERT_OK(node);
  EXPECT_TRUE(node->labels.values.empty());
  EXPECT_TRUE(node->taints.empty());
  EXPECT_THAT(ReadNode(boost::json::parse("[1]")), StatusIs(StatusCode::kInvalidArgument));
}

TEST(SeenNodeTest, VersionsAreWholeNumbersWhereTheyCan) {
  EXPECT_TRUE(IsLater("10", "9"));
  EXPECT_FALSE(IsLater("9", "10"));
  EXPECT_FALSE(IsLater("9", "9"));
  EXPECT_TRUE(IsLater("a", "b"));
  EXPECT_FALSE(IsLater("a", "a"));
}

}  // namespace
}  // namespace kgpu::node
