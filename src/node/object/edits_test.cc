#include "src/node/object/edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::node {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SeenNode NodeToEdit() {
  SeenNode node;
  node.name = "n1";
  node.version = "7";
  node.labels.values = {{"gpu", "true"}, {"nvidia.com/gpu.count", "8"}};
  node.labels.ours = {"nvidia.com/gpu.count"};
  node.taints = {{{"node-role.kubernetes.io/control-plane", "", "NoSchedule"},
                  R"({"key":"node-role.kubernetes.io/control-plane","effect":"NoSchedule"})"},
                 {{"maintenance", "a", "NoExecute"}, R"({"key":"maintenance","timeAdded":"t"})"}};
  return node;
}

// Of a plan that has a request; else an empty one.
kube::ApiRequest RequestOf(const EditPlan& plan) {
  return plan.request.value_or(kube::ApiRequest{});
}

TEST(EditsTest, ReadsLabels) {
  EXPECT_THAT(ParseLabelEdit("gpu=true"), IsOkAndHolds(LabelEdit{"gpu", "true"}));
  EXPECT_THAT(ParseLabelEdit("a.example/b="), IsOkAndHolds(LabelEdit{"a.example/b", ""}));
  EXPECT_THAT(ParseLabelEdit("gpu-"), IsOkAndHolds(LabelEdit{"gpu", std::nullopt}));
}

TEST(EditsTest, RefusesLabelsWithTheFix) {
  EXPECT_THAT(ParseLabelEdit("gpu"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("KEY=VALUE")));
  for (const char* text : {"", "=x", "-", "a b=c", "a/b/c=d", "a=b c", "a=-", "A_.example/x=1"}) {
    EXPECT_THAT(ParseLabelEdit(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(EditsTest, ReadsTaints) {
  EXPECT_THAT(ParseTaintEdit("gpu=yes:NoSchedule"),
              IsOkAndHolds(TaintEdit{"gpu", "yes", "NoSchedule", false}));
  EXPECT_THAT(ParseTaintEdit("gpu:NoExecute"),
              IsOkAndHolds(TaintEdit{"gpu", "", "NoExecute", false}));
  EXPECT_THAT(ParseTaintEdit("gpu-"), IsOkAndHolds(TaintEdit{"gpu", "", "", true}));
  EXPECT_THAT(ParseTaintEdit("gpu:NoSchedule-"),
              IsOkAndHolds(TaintEdit{"gpu", "", "NoSchedule", true}));
  EXPECT_THAT(ParseUntaint("gpu"), IsOkAndHolds(TaintEdit{"gpu", "", "", true}));
  EXPECT_THAT(ParseUntaint("gpu:NoSchedule"),
              IsOkAndHolds(TaintEdit{"gpu", "", "NoSchedule", true}));
}

TEST(EditsTest, RefusesTaintsWithTheFix) {
  EXPECT_THAT(ParseTaintEdit("gpu=yes"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("KEY[=VALUE]:EFFECT")));
  EXPECT_THAT(ParseTaintEdit("gpu=yes:Never"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("NoSchedule")));
  for (const char* text : {"", ":NoSchedule", "a b:NoSchedule", "a=b c:NoSchedule", "-", ":"}) {
    EXPECT_THAT(ParseTaintEdit(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(EditsTest, SetsAndRemovesLabelsInOnePatch) {
  const auto plan = PlanLabels(NodeToEdit(), {{"vendor", "nvidia"}, {"gpu", std::nullopt}}, false);
  ASSERT_OK(plan);
  EXPECT_EQ(RequestOf(*plan).content_type, "application/merge-patch+json");
  EXPECT_EQ(RequestOf(*plan).body, R"({"metadata":{"labels":{"gpu":null,"vendor":"nvidia"}}})");
  EXPECT_THAT(plan->changes, ElementsAre("label + vendor=nvidia", "label - gpu"));
}

TEST(EditsTest, DoesNothingTwice) {
  const auto plan = PlanLabels(NodeToEdit(), {{"gpu", "true"}, {"absent", std::nullopt}}, false);
  ASSERT_OK(plan);
  EXPECT_FALSE(plan->request.has_value());
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("already set"), HasSubstr("absent is not set")));
}

TEST(EditsTest, OverwritesOnlyWhenAsked) {
  EXPECT_THAT(PlanLabels(NodeToEdit(), {{"gpu", "no"}}, false),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("--overwrite")));
  EXPECT_OK(PlanLabels(NodeToEdit(), {{"gpu", "no"}}, true));
  EXPECT_THAT(PlanLabels(NodeToEdit(), {{"a", "1"}, {"a", "2"}}, true),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("twice")));
}

TEST(EditsTest, SaysWhoseLabelItIs) {
  const auto plan = PlanLabels(NodeToEdit(), {{"nvidia.com/gpu.count", "4"}}, true);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->notes, ElementsAre(HasSubstr("was set by kgpu")));
}

TEST(EditsTest, UntaintsAControlPlaneNodeAndKeepsTheRest) {
  const auto edit = ParseUntaint("node-role.kubernetes.io/control-plane");
  ASSERT_OK(edit);
  const auto plan = PlanTaints(NodeToEdit(), {*edit}, false);
  ASSERT_OK(plan);
  EXPECT_EQ(RequestOf(*plan).body, R"({"metadata":{"resourceVersion":"7"},)"
                                   R"("spec":{"taints":[{"key":"maintenance","timeAdded":"t"}]}})");
}

TEST(EditsTest, ATaintThatIsNotThereIsNamed) {
  const auto edit = ParseUntaint("gone:NoSchedule");
  ASSERT_OK(edit);
  EXPECT_THAT(PlanTaints(NodeToEdit(), {*edit}, false),
              StatusIs(StatusCode::kNotFound, HasSubstr("n1 has no taint gone:NoSchedule")));
}

TEST(EditsTest, ReplacesATaintsValueOnlyWhenAsked) {
  const TaintEdit edit{"maintenance", "b", "NoExecute", false};
  EXPECT_THAT(PlanTaints(NodeToEdit(), {edit}, false), StatusIs(StatusCode::kAlreadyExists));
  const auto plan = PlanTaints(NodeToEdit(), {edit}, true);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->changes,
              ElementsAre("taint - maintenance=a:NoExecute", "taint + maintenance=b:NoExecute"));
}

TEST(EditsTest, AddsATaintBesideOneOfAnotherEffect) {
  const auto plan = PlanTaints(NodeToEdit(), {{"maintenance", "", "NoSchedule", false}}, false);
  ASSERT_OK(plan);
  EXPECT_THAT(plan->changes, ElementsAre("taint + maintenance:NoSchedule"));
}

TEST(EditsTest, DecisionsAreRecordedOnTheNode) {
  SeenNode node = NodeToEdit();
  EditPlan plan = PlanDecision(node, Decision::kAdopt, {Owner::kNfd, Owner::kGfd});
  EXPECT_THAT(plan.changes, ElementsAre("annotation + kgpu.dev/adopted=nfd,gfd"));
  node.annotations.values["kgpu.dev/adopted"] = "nfd,gfd";
  EXPECT_THAT(PlanDecision(node, Decision::kAdopt, {Owner::kNfd}).changes, IsEmpty());
  plan = PlanDecision(node, Decision::kRelease, {Owner::kGfd});
  EXPECT_THAT(plan.changes, ElementsAre("annotation + kgpu.dev/adopted=nfd",
                                        "annotation + kgpu.dev/released=gfd"));
  plan = PlanDecision(node, Decision::kForget, {Owner::kNfd, Owner::kGfd});
  EXPECT_EQ(RequestOf(plan).body, R"({"metadata":{"annotations":{"kgpu.dev/adopted":null}}})");
}

TEST(EditsTest, ClearsWhatIsOursStepByStep) {
  SeenNode node = NodeToEdit();
  node.gpu_ready = SeenCondition{"True", "AllVerified", "", WallTime{}};
  node.gpu_healthy = SeenCondition{"True", "AllHealthy", "", WallTime{}};
  node.gpu_configured = SeenCondition{"True", "ConfigApplied", "", WallTime{}};
  node.annotations.values["kgpu.dev/adopted"] = "a-later-kind";
  node.taints.push_back({{"kgpu.dev/not-ready", "", "NoSchedule"}, "{}"});
  EditPlan plan = PlanClear(node);
  EXPECT_THAT(plan.changes,
              ElementsAre("condition - GPUReady=True (AllVerified)",
                          "taint - kgpu.dev/not-ready:NoSchedule",
                          "condition - GPUHealthy=True (AllHealthy)",
                          "condition - GPUConfigured=True (ConfigApplied)",
                          "label - nvidia.com/gpu.count", "annotation - kgpu.dev/adopted"));
  EXPECT_EQ(RequestOf(plan).path, "/api/v1/nodes/n1/status");
  node.gpu_ready.reset();
  node.gpu_healthy.reset();
  node.gpu_configured.reset();
  node.taints.pop_back();
  node.labels.ours.clear();
  plan = PlanClear(node);
  EXPECT_EQ(RequestOf(plan).body, R"({"metadata":{"annotations":{"kgpu.dev/adopted":null}}})");
  node.annotations.values.clear();
  EXPECT_FALSE(PlanClear(node).request.has_value());
}

}  // namespace
}  // namespace kgpu::node
