#include "src/node/object/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::node {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds(1'767'323'045)};  // 2026-01-02T03:04:05Z

// Decided, and empty.
Wanted Nothing() {
  return {.claims = labels::NodeClaims{}, .gate = DesiredGate{}};
}

labels::NodeClaims& Claims(Wanted& wanted) {
  return wanted.claims ? *wanted.claims : wanted.claims.emplace();
}

DesiredGate& Gate(Wanted& wanted) {
  return wanted.gate ? *wanted.gate : wanted.gate.emplace();
}

SeenNode Node() {
  SeenNode node;
  node.name = "n1";
  node.uid = "u1";
  node.version = "42";
  return node;
}

Wanted WantsLabel(const std::string& key, const std::string& value) {
  Wanted wanted = Nothing();
  Claims(wanted).labels[key] = value;
  return wanted;
}

NodePlan Plan(const SeenNode& node, const Wanted& wanted, const Owners& owners = {}) {
  return PlanNode(node, wanted, owners, kNow);
}

std::string Query(const Write& write, std::string_view key) {
  for (const auto& [name, value] : write.request.query) {
    if (name == key) {
      return value;
    }
  }
  return {};
}

TEST(NodePlanTest, NothingWantedOfACleanNodeIsNothingToDo) {
  const NodePlan plan = Plan(Node(), Nothing());
  EXPECT_TRUE(plan.writes.empty());
  EXPECT_THAT(plan.changes, IsEmpty());
}

TEST(NodePlanTest, LeavesAsItIsWhatIsNotDecided) {
  SeenNode node = Node();
  node.labels.values["a.example/x"] = "1";
  node.labels.ours = {"a.example/x"};
  node.gpu_ready = SeenCondition{"True", "AllVerified", "", kNow};
  EXPECT_TRUE(Plan(node, Wanted{}).writes.empty());
  EXPECT_EQ(Plan(node, NothingWanted()).writes.size(), 2U);
}

TEST(NodePlanTest, AppliesAllLabelsByTheManager) {
  const NodePlan plan = Plan(Node(), WantsLabel("nvidia.com/gpu.count", "8"));
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].request.method, "PATCH");
  EXPECT_EQ(plan.writes[0].request.path, "/api/v1/nodes/n1");
  EXPECT_EQ(plan.writes[0].request.content_type, "application/apply-patch+yaml");
  EXPECT_EQ(Query(plan.writes[0], "fieldManager"), "kgpu");
  EXPECT_EQ(Query(plan.writes[0], "force"), "false");
  EXPECT_EQ(plan.writes[0].request.body,
            R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{"nvidia.com/gpu.count":"8"},)"
            R"("name":"n1","uid":"u1"}})");
  EXPECT_THAT(plan.changes, ElementsAre("label + nvidia.com/gpu.count=8"));
}

TEST(NodePlanTest, WritesNothingWhereTheNodeHoldsItAlready) {
  SeenNode node = Node();
  node.labels.values["nvidia.com/gpu.count"] = "8";
  node.labels.ours = {"nvidia.com/gpu.count"};
  EXPECT_TRUE(Plan(node, WantsLabel("nvidia.com/gpu.count", "8")).writes.empty());
}

TEST(NodePlanTest, LeavesOutALabelThatIsNoLongerWanted) {
  SeenNode node = Node();
  node.labels.values = {{"a.example/x", "1"}, {"a.example/y", "1"}};
  node.labels.ours = {"a.example/x", "a.example/y"};
  const NodePlan plan = Plan(node, WantsLabel("a.example/x", "1"));
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_THAT(plan.writes[0].request.body, Not(HasSubstr("a.example/y")));
  EXPECT_THAT(plan.changes, ElementsAre("label - a.example/y"));
}

TEST(NodePlanTest, DoesNotTouchAPersonsValue) {
  SeenNode node = Node();
  node.labels.values["nvidia.com/gpu.present"] = "false";
  node.labels.others["nvidia.com/gpu.present"] = {"kubectl-label"};
  const NodePlan plan = Plan(node, WantsLabel("nvidia.com/gpu.present", "true"));
  EXPECT_TRUE(plan.writes.empty());
  EXPECT_THAT(plan.skipped, ElementsAre(Skipped{"label", "nvidia.com/gpu.present", "true", "false",
                                                "kubectl-label"}));
}

TEST(NodePlanTest, SharesAValueThatIsTheSame) {
  SeenNode node = Node();
  node.labels.values["nvidia.com/gpu.present"] = "true";
  node.labels.others["nvidia.com/gpu.present"] = {"gpu-operator"};
  const NodePlan plan = Plan(node, WantsLabel("nvidia.com/gpu.present", "true"));
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(Query(plan.writes[0], "force"), "false");
  EXPECT_THAT(plan.skipped, IsEmpty());
}

TEST(NodePlanTest, StandsBackFromAWholeDomain) {
  Owners owners;
  owners.found = {{.owner = Owner::kNfd, .is_running = true}};
  const NodePlan plan =
      Plan(Node(), WantsLabel("feature.node.kubernetes.io/cpu-model.id", "85"), owners);
  EXPECT_TRUE(plan.writes.empty());
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].owner, "Node Feature Discovery");
}

TEST(NodePlanTest, TakesAnAdoptedKeyByForceOnThisVersionOnly) {
  SeenNode node = Node();
  node.labels.values["nvidia.com/gpu.count"] = "7";
  node.labels.others["nvidia.com/gpu.count"] = {"nfd-master"};
  Owners owners;
  owners.adopted = {Owner::kGfd};
  const NodePlan plan = Plan(node, WantsLabel("nvidia.com/gpu.count", "8"), owners);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(Query(plan.writes[0], "force"), "true");
  EXPECT_THAT(plan.writes[0].request.body, HasSubstr(R"("resourceVersion":"42")"));
}

TEST(NodePlanTest, WritesTheConditionToTheStatusFirst) {
  Wanted wanted = WantsLabel("a.example/x", "1");
  Gate(wanted).condition = ConditionText{true, "AllVerified", "everything is ok"};
  const NodePlan plan = Plan(Node(), wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kCondition);
  EXPECT_EQ(plan.writes[0].request.path, "/api/v1/nodes/n1/status");
  EXPECT_EQ(Query(plan.writes[0], "fieldManager"), "kgpu-gate");
  EXPECT_THAT(plan.writes[0].request.body,
              HasSubstr(R"("status":{"conditions":[{"type":"GPUReady","status":"True",)"
                        R"("reason":"AllVerified","message":"everything is ok",)"
                        R"("lastTransitionTime":"2026-01-02T03:04:05Z"}]})"));
}

TEST(NodePlanTest, KeepsTheTransitionTimeWhileTheStatusStays) {
  SeenNode node = Node();
  node.gpu_ready =
      SeenCondition{"False", "DriverStarting", "x", WallTime(std::chrono::seconds(1'700'000'000))};
  Wanted wanted = Nothing();
  Gate(wanted).condition = ConditionText{false, "DriverFailed", "y"};
  const NodePlan plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_THAT(plan.writes[0].request.body, HasSubstr("2023-11-14T22:13:20Z"));
  Gate(wanted).condition = ConditionText{false, "DriverStarting", "x"};
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
}

TEST(NodePlanTest, EachConditionHasAManagerOfItsOwn) {
  SeenNode node = Node();
  node.gpu_ready = SeenCondition{"True", "AllVerified", "x", {}};
  Wanted wanted = Nothing();
  Gate(wanted).condition = ConditionText{true, "AllVerified", "x"};
  wanted.health = DesiredHealth{HealthText{"False", "Xid79", "y"}};
  NodePlan plan = Plan(node, wanted);
  ASSERT_EQ(plan.writes.size(), 1U) << "what one manager applies leaves out the other's";
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kHealthCondition);
  EXPECT_EQ(Query(plan.writes[0], "fieldManager"), "kgpu-health");
  EXPECT_THAT(plan.writes[0].request.body,
              AllOf(HasSubstr(R"("type":"GPUHealthy")"), Not(HasSubstr("GPUReady"))));
  node.gpu_healthy = SeenCondition{"False", "Xid79", "y", {}};
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
  wanted.health = DesiredHealth{};
  plan = Plan(node, wanted);
  EXPECT_THAT(plan.changes, ElementsAre("condition - GPUHealthy=False (Xid79)"));
}

TEST(NodePlanTest, TheConfigurationHasACondition) {
  SeenNode node = Node();
  node.gpu_healthy = SeenCondition{"True", "AllHealthy", "y", {}};
  Wanted wanted = Nothing();
  wanted.config = DesiredConfig{ConditionText{false, "ConfigInvalid", "x"}};
  NodePlan plan = Plan(node, wanted);
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kConfigCondition);
  EXPECT_EQ(Query(plan.writes[0], "fieldManager"), "kgpu-config");
  EXPECT_THAT(
      plan.writes[0].request.body,
      AllOf(HasSubstr(R"("type":"GPUConfigured","status":"False")"), Not(HasSubstr("GPUHealthy"))));
  node.gpu_configured = SeenCondition{"False", "ConfigInvalid", "x", {}};
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
  wanted.config = DesiredConfig{};
  plan = Plan(node, wanted);
  EXPECT_THAT(plan.changes, ElementsAre("condition - GPUConfigured=False (ConfigInvalid)"));
}

TEST(NodePlanTest, LiftsItsTaintAndKeepsTheOthersAsTheyAre) {
  SeenNode node = Node();
  node.taints = {{{"maintenance", "", "NoExecute"}, R"({"key":"maintenance","timeAdded":"t"})"},
                 {{"kgpu.dev/not-ready", "", "NoSchedule"}, R"({"key":"kgpu.dev/not-ready"})"}};
  Wanted wanted = Nothing();
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
  Gate(wanted).taint = DesiredTaint::kLift;
  const NodePlan plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].request.body,
            R"({"metadata":{"resourceVersion":"42"},)"
            R"("spec":{"taints":[{"key":"maintenance","timeAdded":"t"}]}})");
}

TEST(NodePlanTest, SetsItsTaintBehindTheOthers) {
  SeenNode node = Node();
  node.taints = {{{"maintenance", "", "NoExecute"}, R"({"key":"maintenance"})"}};
  Wanted wanted = Nothing();
  Gate(wanted).taint = DesiredTaint::kSet;
  const NodePlan plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_THAT(
      plan.writes[0].request.body,
      HasSubstr(R"([{"key":"maintenance"},{"key":"kgpu.dev/not-ready","effect":"NoSchedule"}])"));
  EXPECT_EQ(Query(plan.writes[0], "fieldManager"), "kgpu-gate");
}

TEST(NodePlanTest, RecordsATaintBeforeItIsThere) {
  Wanted wanted = Nothing();
  Claims(wanted).taints = {{"example.com/slow", "yes", "NoSchedule"}};
  SeenNode node = Node();
  NodePlan plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_THAT(plan.writes[0].request.body,
              HasSubstr(R"("annotations":{"kgpu.dev/taints":"example.com/slow:NoSchedule"})"));
  node.annotations.values["kgpu.dev/taints"] = "example.com/slow:NoSchedule";
  node.annotations.ours = {"kgpu.dev/taints"};
  plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kTaints);
}

TEST(NodePlanTest, WritesTheListOfTaintsOnceAtATime) {
  SeenNode node = Node();
  node.annotations.values["kgpu.dev/taints"] = "example.com/slow:NoSchedule";
  node.annotations.ours = {"kgpu.dev/taints"};
  Wanted wanted = Nothing();
  Claims(wanted).taints = {{"example.com/slow", "", "NoSchedule"}};
  Gate(wanted).taint = DesiredTaint::kSet;
  const NodePlan plan = Plan(node, wanted);
  ASSERT_EQ(plan.writes.size(), 1U);
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kGateTaint);
}

TEST(NodePlanTest, TakesBackTheTaintsItRecordedAndThenTheRecord) {
  SeenNode node = Node();
  node.annotations.values["kgpu.dev/taints"] = "example.com/slow:NoSchedule";
  node.annotations.ours = {"kgpu.dev/taints"};
  node.taints = {{{"example.com/slow", "", "NoSchedule"}, R"({"key":"example.com/slow"})"}};
  NodePlan plan = Plan(node, Nothing());
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kTaints);
  node.taints.clear();
  plan = Plan(node, Nothing());
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].kind, WriteKind::kKeys);
  EXPECT_THAT(plan.writes[0].request.body, Not(HasSubstr("kgpu.dev/taints")));
}

TEST(NodePlanTest, ATaintThatWasThereBeforeIsNotOurs) {
  SeenNode node = Node();
  node.taints = {{{"example.com/slow", "", "NoSchedule"}, R"({"key":"example.com/slow"})"}};
  Wanted wanted = Nothing();
  Claims(wanted).taints = {{"example.com/slow", "", "NoSchedule"}};
  const NodePlan plan = Plan(node, wanted);
  EXPECT_TRUE(plan.writes.empty());
  ASSERT_EQ(plan.skipped.size(), 1U);
  EXPECT_EQ(plan.skipped[0].kind, "taint");
}

TEST(NodePlanTest, SetsExtendedResourcesOnTheStatusWithEscapedNames) {
  SeenNode node = Node();
  node.annotations.values["kgpu.dev/extended-resources"] = "example.com/fpga";
  node.annotations.ours = {"kgpu.dev/extended-resources"};
  Wanted wanted = Nothing();
  Claims(wanted).extended_resources["example.com/fpga"] = "2";
  NodePlan plan = Plan(node, wanted);
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_EQ(plan.writes[0].request.path, "/api/v1/nodes/n1/status");
  EXPECT_EQ(plan.writes[0].request.body,
            R"([{"op":"add","path":"/status/capacity/example.com~1fpga","value":"2"}])");
  node.capacity["example.com/fpga"] = "2";
  node.allocatable["example.com/fpga"] = "2";
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
  plan = Plan(node, Nothing());
  ASSERT_FALSE(plan.writes.empty());
  EXPECT_THAT(plan.writes[0].request.body,
              AllOf(HasSubstr(R"({"op":"remove","path":"/status/capacity/example.com~1fpga"})"),
                    HasSubstr("/status/allocatable/example.com~1fpga")));
}

TEST(NodePlanTest, AResourceThatTheServerWritesInAnotherUnitIsAsWanted) {
  SeenNode node = Node();
  node.annotations.values["kgpu.dev/extended-resources"] = "example.com/memory";
  node.annotations.ours = {"kgpu.dev/extended-resources"};
  node.capacity["example.com/memory"] = "2Gi";
  Wanted wanted = Nothing();
  Claims(wanted).extended_resources["example.com/memory"] = "2048Mi";
  EXPECT_TRUE(Plan(node, wanted).writes.empty());
  Claims(wanted).extended_resources["example.com/memory"] = "2049Mi";
  EXPECT_FALSE(Plan(node, wanted).writes.empty());
}

TEST(NodePlanTest, DoesNotTakeAResourceOfTheKubelet) {
  SeenNode node = Node();
  node.capacity["nvidia.com/gpu"] = "8";
  Wanted wanted = Nothing();
  Claims(wanted).extended_resources["nvidia.com/gpu"] = "2";
  const NodePlan plan = Plan(node, wanted);
  EXPECT_TRUE(plan.writes.empty());
  EXPECT_THAT(plan.skipped, Contains(::testing::Field(&Skipped::kind, "resource")));
}

}  // namespace
}  // namespace kgpu::node
