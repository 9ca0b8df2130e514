#include "src/cluster/adopt/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/cluster/adopt/test_cluster.h"
#include "src/kube/api/json.h"
#include "testing/status_matchers.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

// RFC 7386.
void Merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) {
    target = json::object();
  }
  for (const auto& [key, value] : patch.get_object()) {
    if (value.is_null()) {
      target.get_object().erase(key);
    } else {
      Merge(target.get_object()[key], value);
    }
  }
}

json::value NodeJsonOf(const SeenNode& node) {
  json::value value = Json(R"({"metadata":{"labels":{},"annotations":{}}})");
  value.at("metadata").get_object()["name"] = node.name;
  value.at("metadata").get_object()["resourceVersion"] = node.version;
  for (const auto& [key, text] : node.labels) {
    value.at("metadata").at("labels").get_object()[key] = text;
  }
  for (const auto& [key, text] : node.annotations) {
    value.at("metadata").at("annotations").get_object()[key] = text;
  }
  return value;
}

SeenNode Patched(const SeenNode& node, const Patch& patch) {
  EXPECT_TRUE(patch.has_value());
  json::value value = NodeJsonOf(node);
  Merge(value, patch.value_or(json::object()));
  SeenNode after = ReadNode(value);
  after.gpus = node.gpus;
  after.is_ready = node.is_ready;
  return after;
}

constexpr const char* kPluginLabel = "nvidia.com/gpu.deploy.device-plugin";

NodePlan PlanOfOperands() {
  return {.name = "n1",
          .parts = {{.component = Component::kPlugin,
                     .space = "gpu-operator",
                     .daemon_set = "nvidia-device-plugin-daemonset",
                     .deploy_label = kPluginLabel},
                    {.component = Component::kGfd,
                     .space = "gpu-operator",
                     .daemon_set = "gpu-feature-discovery",
                     .deploy_label = "nvidia.com/gpu.deploy.gpu-feature-discovery"}}};
}

SeenNode NodeOfOperator() {
  return GpuNode("n1", {{kPluginLabel, "true"}, {"other", "x"}});
}

TEST(NodeChangesTest, GoThereAndBackAgain) {
  const SeenNode before = NodeOfOperator();
  const NodePlan plan = PlanOfOperands();
  const SeenNode left = Patched(before, LeavePatch(before, plan, {GpuPod("n1", "train")}));
  EXPECT_EQ(left.labels.at(kPluginLabel), "false");
  EXPECT_EQ(left.labels.at("nvidia.com/gpu.deploy.gpu-feature-discovery"), "false");
  EXPECT_EQ(left.labels.at(std::string(kTakenLabel)), "true");
  EXPECT_FALSE(left.annotations.contains("kgpu.dev/adopted")) << "the others must leave first";
  const auto record = RecordOf(left);
  ASSERT_OK(record);
  EXPECT_EQ(record->gpus, before.gpus);
  EXPECT_EQ(record->pods.at("uid-train"), std::vector<std::string>{"main=containerd://train"});

  const SeenNode served = Patched(left, ServePatch(left, plan));
  EXPECT_EQ(served.annotations.at("kgpu.dev/adopted"), "gfd,plugin");

  const SeenNode away = Patched(served, StandBackPatch(served));
  EXPECT_EQ(away.annotations.at("kgpu.dev/adopted"), "gfd");
  EXPECT_EQ(away.annotations.at("kgpu.dev/released"), "plugin");
  const SeenNode back = Patched(away, ReturnPatch(away, *record));
  EXPECT_EQ(back.labels, before.labels);
  const SeenNode released = Patched(back, ReleasePatch(back));
  EXPECT_EQ(released.annotations.at("kgpu.dev/released"), "gfd,plugin");
  EXPECT_EQ(Patched(released, ForgetPatch(released, *record)), before);
}

TEST(NodeChangesTest, EachStepIsDoneOnce) {
  const SeenNode before = NodeOfOperator();
  const NodePlan plan = PlanOfOperands();
  const SeenNode left = Patched(before, LeavePatch(before, plan, {}));
  EXPECT_EQ(LeavePatch(left, plan, {GpuPod("n1", "later")}), std::nullopt);
  const SeenNode served = Patched(left, ServePatch(left, plan));
  EXPECT_EQ(LeavePatch(served, plan, {}), std::nullopt);
  EXPECT_EQ(ServePatch(served, plan), std::nullopt);
  const SeenNode away = Patched(served, StandBackPatch(served));
  EXPECT_EQ(StandBackPatch(away), std::nullopt);
  const NodeRecord record = *RecordOf(away);
  const SeenNode back = Patched(away, ReturnPatch(away, record));
  EXPECT_EQ(ReturnPatch(back, record), std::nullopt);
  const SeenNode released = Patched(back, ReleasePatch(back));
  EXPECT_EQ(ReleasePatch(released), std::nullopt);
}

TEST(NodeChangesTest, KeepDecisionsThatWereThereBefore) {
  SeenNode before = NodeOfOperator();
  before.annotations = {{"kgpu.dev/adopted", "nfd"}, {"kgpu.dev/released", "gfd"}};
  const NodePlan plan = PlanOfOperands();
  const SeenNode left = Patched(before, LeavePatch(before, plan, {}));
  const SeenNode served = Patched(left, ServePatch(left, plan));
  EXPECT_EQ(served.annotations.at("kgpu.dev/adopted"), "gfd,nfd,plugin");
  EXPECT_FALSE(served.annotations.contains("kgpu.dev/released"));
  EXPECT_EQ(Patched(served, ForgetPatch(served, *RecordOf(served))), before);
}

TEST(NodeChangesTest, AFinishedNodeStaysKgpus) {
  const SeenNode before = NodeOfOperator();
  const NodePlan plan = PlanOfOperands();
  const SeenNode left = Patched(before, LeavePatch(before, plan, {}));
  const SeenNode served = Patched(left, ServePatch(left, plan));
  const SeenNode finished = Patched(served, ForgetPatch(served, *RecordOf(served), true));
  EXPECT_EQ(finished.labels, before.labels);
  EXPECT_EQ(finished.annotations.at("kgpu.dev/adopted"), "gfd,plugin");
  EXPECT_FALSE(IsTaken(finished));
}

TEST(NodeChangesTest, ARecordThatSomebodyEditedIsAnError) {
  SeenNode node = NodeOfOperator();
  EXPECT_THAT(RecordOf(node), StatusIs(StatusCode::kNotFound, HasSubstr("not taken it over")));
  for (const char* text : {"no", "[]", "{}", R"({"labels":{"a":1},"annotations":{}})"}) {
    node.annotations[std::string(kRecordAnnotation)] = text;
    EXPECT_THAT(RecordOf(node), StatusIs(StatusCode::kInvalidArgument, HasSubstr("node n1")))
        << text;
  }
}

TEST(NodeChangesTest, AreLockedToTheNodeThatWasRead) {
  const SeenNode node = NodeOfOperator();
  const Patch patch = LeavePatch(node, PlanOfOperands(), {});
  ASSERT_TRUE(patch);
  EXPECT_EQ(kube::VersionOf(*patch), "7");
}

// DaemonSets.

json::value WithAffinity(const std::string& affinity) {
  return DaemonSet(
      {.name = "p", .container = "nvidia-device-plugin-ctr", .image = "i", .pod_spec = affinity});
}

json::value PatchedSet(json::value set, const Patch& patch) {
  EXPECT_TRUE(patch.has_value());
  Merge(set, patch.value_or(json::object()));
  set.at("metadata").get_object().erase("resourceVersion");
  return set;
}

// As the server drops an empty map.
json::value Cleaned(json::value set) {
  json::object& metadata = set.at("metadata").get_object();
  const json::value* annotations = metadata.if_contains("annotations");
  if (annotations != nullptr && annotations->get_object().empty()) {
    metadata.erase("annotations");
  }
  return set;
}

TEST(DaemonSetChangesTest, RestoreEveryFormOfAffinity) {
  const std::vector<std::string> forms = {
      "",
      R"(,"affinity":{})",
      R"(,"affinity":{"nodeAffinity":{}})",
      R"(,"affinity":{"podAffinity":{"x":1}})",
      R"(,"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[]}})",
      R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]},
            {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},{}]}}})",
  };
  for (const std::string& form : forms) {
    const json::value before = WithAffinity(form);
    const json::value excluded = PatchedSet(before, ExcludePatch(before));
    EXPECT_TRUE(IsExcluded(excluded)) << form;
    EXPECT_THAT(json::serialize(excluded.at("spec")), HasSubstr("kgpu.dev/taken-over")) << form;
    EXPECT_EQ(ExcludePatch(excluded), std::nullopt) << form;
    const auto restore = RestorePatch(excluded);
    ASSERT_OK(restore);
    EXPECT_EQ(Cleaned(PatchedSet(excluded, *restore)), before) << form;
  }
}

TEST(DaemonSetChangesTest, EveryTermThatMatchesANodeAvoidsThoseTaken) {
  const json::value before = WithAffinity(
      R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
          {"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]},
            {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]},{}]}}})");
  const json::value excluded = PatchedSet(before, ExcludePatch(before));
  const json::value& terms = excluded.at("spec")
                                 .at("template")
                                 .at("spec")
                                 .at("affinity")
                                 .at("nodeAffinity")
                                 .at("requiredDuringSchedulingIgnoredDuringExecution")
                                 .at("nodeSelectorTerms");
  const json::value ours =
      Json(R"({"key":"kgpu.dev/taken-over","operator":"NotIn","values":["true"]})");
  EXPECT_EQ(terms.at(0).at("matchExpressions").at(1), ours);
  EXPECT_EQ(terms.at(1).at("matchExpressions").at(0), ours);
  EXPECT_EQ(terms.at(2), json::value(json::object())) << "an empty term matches no node";
}

TEST(DaemonSetChangesTest, PodsOfOtherNodesDoNotRestart) {
  const json::value before = StaticPlugin();
  const json::value excluded = PatchedSet(before, ExcludePatch(before));
  EXPECT_EQ(excluded.at("spec").at("updateStrategy"), Json(R"({"type":"OnDelete"})"));
}

TEST(DaemonSetChangesTest, ChangesOfOthersMeanwhileStay) {
  json::value set = StaticPlugin();
  set = PatchedSet(set, ExcludePatch(set));
  json::value& affinity = set.at("spec").at("template").at("spec").at("affinity");
  affinity.get_object()["podAntiAffinity"] = Json(R"({"x":1})");
  const auto restore = RestorePatch(set);
  ASSERT_OK(restore);
  const json::value after = PatchedSet(set, *restore);
  EXPECT_EQ(after.at("spec").at("template").at("spec").at("affinity"),
            Json(R"({"podAntiAffinity":{"x":1}})"));
  EXPECT_THAT(json::serialize(after), Not(HasSubstr("taken-over")));
}

TEST(DaemonSetChangesTest, WhatWasNotChangedIsNotRestored) {
  const auto restore = RestorePatch(StaticPlugin());
  ASSERT_OK(restore);
  EXPECT_EQ(*restore, std::nullopt);
}

TEST(MergeDiffTest, TurnsOneIntoTheOther) {
  const json::value from = Json(R"({"a":1,"b":{"c":[1],"d":2},"e":{"f":{}},"g":"x"})");
  const json::value to = Json(R"({"a":1,"b":{"c":[2]},"e":3,"h":{"i":true}})");
  const json::value diff = MergeDiff(from.get_object(), to.get_object());
  EXPECT_EQ(diff, Json(R"({"g":null,"b":{"d":null,"c":[2]},"e":3,"h":{"i":true}})"));
  json::value merged = from;
  Merge(merged, diff);
  EXPECT_EQ(merged, to);
  EXPECT_EQ(MergeDiff(to.get_object(), to.get_object()), json::value(json::object()));
}

}  // namespace
}  // namespace kgpu::adopt
