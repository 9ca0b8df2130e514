// Rules of the scheduler and of DRA that need more than one edit to be seen, and what fixes may
// say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/diagnose/explain/test_world.h"

namespace kgpu::explain {
namespace {

// What a claim has of gpu-0, and whether another claim can have it all the same.
TEST(RulesTest, WhatOthersShareIsFree) {
  const auto ids = [](const std::string& result, const std::string& device) {
    return IdsOf(
        World()
            .Apply({{"train", kClaimPod},
                    {"", kClaim},
                    {"", kClass},
                    {"", fmt::format("kind: ResourceSlice\nmetadata: {{name: s}}\nspec: {{driver: "
                                     "gpu.nvidia.com, nodeName: node-a, pool: {{name: node-a}}, "
                                     "devices: [{{name: gpu-0{}}}]}}",
                                     device)},
                    {"", fmt::format("kind: ResourceClaim\nmetadata: {{name: two, namespace: "
                                     "team-b}}\nstatus: {{allocation: {{devices: {{results: "
                                     "[{{driver: gpu.nvidia.com, pool: node-a, device: gpu-0{}}}]"
                                     "}}}}}}",
                                     result)}})
            .Explain());
  };
  EXPECT_EQ(ids("", "").count("claim-no-device"), 1U);
  EXPECT_EQ(ids(", adminAccess: true", "").count("claim-no-device"), 0U);
  EXPECT_EQ(ids(", shareID: u-7", "").count("claim-no-device"), 0U);
  EXPECT_EQ(ids(", consumedCapacity: {memory: 10Gi}", "").count("claim-no-device"), 0U);
  EXPECT_EQ(ids("", ", allowMultipleAllocations: true").count("claim-no-device"), 0U);
}

TEST(RulesTest, AnAdministratorsRequestNeedsNoFreeDevice) {
  const Report report =
      World()
          .Apply({{"train", kClaimPod},
                  {"", kClass},
                  {"", kSlice},
                  {"",
                   "kind: ResourceClaim\nmetadata: {name: one, namespace: team-a}\nspec: {devices: "
                   "{requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, adminAccess: "
                   "true}}]}}"},
                  {"",
                   "kind: ResourceClaim\nmetadata: {name: two, namespace: team-b}\nstatus: "
                   "{allocation: {devices: {results: [{driver: gpu.nvidia.com, pool: node-a, "
                   "device: gpu-0}]}}}"}})
          .Explain();
  EXPECT_EQ(IdsOf(report).count("claim-no-device"), 0U);
}

TEST(RulesTest, SlicesOfAnOlderPoolDoNotCount) {
  const auto slice = [](const char* name, int generation) {
    return Edit{"", fmt::format("kind: ResourceSlice\nmetadata: {{name: {}}}\nspec: {{driver: "
                                "gpu.nvidia.com, nodeName: node-a, pool: {{name: node-a, "
                                "generation: {}}}, devices: [{{name: {}}}]}}",
                                name, generation, name)};
  };
  const Edit taken{"",
                   "kind: ResourceClaim\nmetadata: {name: two, namespace: team-b}\nstatus: "
                   "{allocation: {devices: {results: [{driver: gpu.nvidia.com, pool: node-a, "
                   "device: new}]}}}"};
  const Report report = World()
                            .Apply({{"train", kClaimPod},
                                    {"", kClaim},
                                    {"", kClass},
                                    slice("old", 1),
                                    slice("new", 2),
                                    taken})
                            .Explain();
  EXPECT_THAT(EvidenceOf(report, "claim-no-device"), ::testing::HasSubstr("0 free of 1"));
}

const Edit kAllTaken{"serve", "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}"};
const Edit kServedClass{
    "",
    "kind: DeviceClass\nmetadata: {name: gpu.nvidia.com}\nspec: {extendedResourceName: "
    "nvidia.com/gpu}"};

TEST(RulesTest, AClassOfDraDoesNotHideWhatTheKubeletsGiveOut) {
  EXPECT_EQ(IdsOf(World().Apply({kServedClass, kAllTaken}).Explain()).count("gpu-in-use"), 1U);
  EXPECT_EQ(
      IdsOf(World().Apply({kServedClass, Resources("{limits: {nvidia.com/gpu: 16}}")}).Explain())
          .count("resource-too-many"),
      1U);
}

TEST(RulesTest, OnlyNodesThatLackNothingElseArePreempted) {
  const Edit priority{"train", "spec: {priority: 100}"};
  EXPECT_EQ(IdsOf(World().Apply({kAllTaken, priority}).Explain()).count("preemption-possible"), 1U);
  EXPECT_EQ(
      IdsOf(
          World().Apply({kAllTaken, priority, {"node-a", "spec: {unschedulable: true}"}}).Explain())
          .count("preemption-possible"),
      0U);
  // A node that does not match has free devices: they are of no use.
  const Edit other{"",
                   "kind: Node\nmetadata: {name: node-c}\nspec: {unschedulable: true}\nstatus: "
                   "{capacity: {nvidia.com/gpu: 8}, allocatable: {nvidia.com/gpu: 8}}"};
  EXPECT_EQ(
      IdsOf(World().Apply({kAllTaken, priority, other}).Explain()).count("preemption-possible"),
      1U);
}

TEST(RulesTest, RoomThatIsKeptForOthersIsNotFree) {
  const auto ids = [](int priority) {
    return IdsOf(
        World()
            .Apply({{"", fmt::format("kind: Pod\nmetadata: {{name: next, namespace: "
                                     "team-b}}\nspec: {{priority: {}, containers: [{{name: "
                                     "m, resources: {{limits: {{nvidia.com/gpu: 4}}}}}}]}}"
                                     "\nstatus: {{phase: Pending, nominatedNodeName: "
                                     "node-a}}",
                                     priority)}})
            .Explain());
  };
  EXPECT_EQ(ids(10).count("gpu-in-use"), 1U);
  EXPECT_EQ(ids(-1).count("gpu-in-use"), 0U);
}

TEST(RulesTest, AQuotaOfOtherPodsDoesNotCount) {
  const auto ids = [](const std::string& scope, const std::string& priority) {
    return IdsOf(
        World()
            .Apply(
                {{"train", fmt::format("metadata: {{uid: null}}\nspec: {{priorityClassName: {}}}",
                                       priority)},
                 {"", fmt::format("kind: ResourceQuota\nmetadata: {{name: q, namespace: "
                                  "team-a}}\nspec: {{{}}}\nstatus: {{hard: "
                                  "{{requests.nvidia.com/gpu: 4}}, used: "
                                  "{{requests.nvidia.com/gpu: 4}}}}",
                                  scope)}})
            .Explain());
  };
  const std::string high =
      "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: "
      "[high]}]}";
  EXPECT_EQ(ids(high, "high").count("quota-exceeded"), 1U);
  EXPECT_EQ(ids(high, "low").count("quota-exceeded"), 0U);
  EXPECT_EQ(ids("scopes: [BestEffort]", "low").count("quota-exceeded"), 0U);
  EXPECT_EQ(ids("scopes: [NotBestEffort]", "low").count("quota-exceeded"), 1U);
}

TEST(RulesTest, LinesOfOneTermAreAllUnmet) {
  const Report report =
      World()
          .Apply({{"train",
                   "spec: {affinity: {nodeAffinity: "
                   "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                   "[{matchExpressions: [{key: zone, operator: In, values: [b]}, {key: "
                   "kubernetes.io/arch, operator: In, values: [arm64]}]}]}}}}"}})
          .Explain();
  EXPECT_THAT(EvidenceOf(report, "affinity-differs"), ::testing::HasSubstr("; and "));
}

std::vector<std::string> FixesOf(const Report& report) {
  std::vector<std::string> all;
  for (const report::Finding& reason : report.reasons) {
    all.insert(all.end(), reason.fix.commands.begin(), reason.fix.commands.end());
  }
  for (const NodeVerdict& node : report.nodes) {
    for (const report::Finding& reason : node.reasons) {
      all.insert(all.end(), reason.fix.commands.begin(), reason.fix.commands.end());
    }
  }
  return all;
}

TEST(RulesTest, WhatOthersDecideIsNoCommand) {
  for (const Edit& edit :
       {Edit{"node-a", "spec: {unschedulable: true}"},
        Edit{"node-a", "spec: {taints: [{key: team, value: b, effect: NoSchedule}]}"},
        Edit{"train", "spec: {nodeSelector: {zone: b}}"}}) {
    for (const std::string& fix : FixesOf(World().Apply({edit}).Explain())) {
      EXPECT_TRUE(fix.starts_with("#") || fix.find("kubectl describe") == 0 ||
                  fix.find("kubectl get") == 0)
          << fix;
    }
  }
  const Edit scaler{"node-a",
                    "spec: {taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]}"};
  EXPECT_THAT(FixesOf(World().Apply({scaler}).Explain()),
              ::testing::Each(::testing::Not(::testing::HasSubstr("kubectl taint"))));
}

TEST(RulesTest, NamesInCommandsAreWordsOfAShell) {
  const std::string evil = "x;reboot;";
  World world;
  world.Apply(
      {{"train", fmt::format("spec: {{runtimeClassName: '{0}', schedulerName: '{0}', "
                             "nodeSelector: {{'{0}': '{0}'}}}}",
                             evil)},
       {"", fmt::format("kind: Node\nmetadata: {{name: '{}', labels: "
                        "{{nvidia.com/gpu.present: 'true'}}}}\nspec: {{unschedulable: true, "
                        "taints: [{{key: kgpu.dev/not-ready, effect: NoSchedule}}]}}\nstatus: "
                        "{{conditions: [{{type: Ready, status: 'False'}}]}}",
                        evil)}});
  for (const std::string& fix : FixesOf(world.Explain())) {
    const size_t at = fix.find(evil);
    EXPECT_TRUE(fix.starts_with("#") || at == std::string::npos || fix[at - 1] == '\'' ||
                fix[at - 1] == '=')
        << fix;
    EXPECT_EQ(fix.find("printf"), std::string::npos) << fix;
  }
}

TEST(RulesTest, AFixIsOneLine) {
  const Edit edit{"node-a", "spec: {taints: [{key: \"a\\nreboot\", effect: NoSchedule}]}"};
  for (const std::string& fix : FixesOf(World().Apply({edit}).Explain())) {
    EXPECT_EQ(fix.find('\n'), std::string::npos) << fix;
  }
}

TEST(RulesTest, ATaintOfADeviceMayBeTolerated) {
  World world;
  world.Apply(
      {{"train", kClaimPod},
       {"", kClaim},
       {"", kClass},
       {"",
        "kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, nodeName: "
        "node-a, pool: {name: node-a}, devices: [{name: gpu-0, taints: [{key: unhealthy, "
        "effect: NoSchedule}]}]}"}});
  EXPECT_THAT(EvidenceOf(world.Explain(), "claim-no-device"), ::testing::HasSubstr("0 free of 1"));
  world.Apply({{"one",
                "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, "
                "tolerations: [{key: unhealthy, operator: Exists}]}}]}}"}});
  EXPECT_EQ(IdsOf(world.Explain()).count("claim-no-device"), 0U);
}

TEST(RulesTest, WhoWantsAllDevicesNeedsAllOfThemFree) {
  World world;
  world.Apply(
      {{"train", kClaimPod},
       {"", kClass},
       {"",
        "kind: ResourceClaim\nmetadata: {name: one, namespace: team-a}\nspec: {devices: {requests: "
        "[{name: r, exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}}]}}"},
       {"",
        "kind: ResourceSlice\nmetadata: {name: s}\nspec: {driver: gpu.nvidia.com, nodeName: "
        "node-a, "
        "pool: {name: node-a}, devices: [{name: gpu-0}, {name: gpu-1}]}"},
       {"",
        "kind: ResourceClaim\nmetadata: {name: two, namespace: team-b}\nstatus: {allocation: "
        "{devices: {results: [{driver: gpu.nvidia.com, pool: node-a, device: gpu-0}]}}}"}});
  EXPECT_THAT(
      EvidenceOf(world.Explain(), "claim-no-device"),
      ::testing::HasSubstr("requests all of gpu.nvidia.com (driver gpu.nvidia.com), 1 free of 2"));
  world.Apply({{"two", "status: null"}});
  EXPECT_EQ(IdsOf(world.Explain()).count("claim-no-device"), 0U);
}

}  // namespace
}  // namespace kgpu::explain
