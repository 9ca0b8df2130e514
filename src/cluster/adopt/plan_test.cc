#include "src/cluster/adopt/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/adopt/changes.h"
#include "src/cluster/adopt/test_cluster.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const PlannedWorkload& Of(const Plan& plan, Component component) {
  static const PlannedWorkload kNone;
  const auto found = std::ranges::find_if(plan.workloads, [component](const PlannedWorkload& one) {
    return one.workload.component == component;
  });
  EXPECT_NE(found, plan.workloads.end()) << FactsOf(component).id;
  return found == plan.workloads.end() ? kNone : *found;
}

std::vector<std::string> Order(const Plan& plan) {
  std::vector<std::string> names;
  for (const NodePlan& node : plan.nodes) {
    names.push_back(node.name);
  }
  return names;
}

World OperatorWorld(std::vector<SeenNode> nodes) {
  World world = WorldOf(
      {OperandPlugin(), OperandOf("gpu-feature-discovery", "gpu-feature-discovery", "x:v0.17.1"),
       OperandOf("nvidia-driver-daemonset", "nvidia-driver-ctr", "driver:550.54.15-ubuntu22.04"),
       OperandOf("nvidia-dcgm-exporter", "nvidia-dcgm-exporter", "dcgm-exporter:3.3.5-3.4.1"),
       NfdWorker()},
      std::move(nodes));
  world.workloads.push_back(*ReadWorkload(OperatorDeployment(), "Deployment"));
  world.foreign.policy = PolicySettings{
      .name = "cluster-policy", .mig_strategy = "single", .driver_root = "/run/nvidia/driver"};
  return world;
}

TEST(PlanTest, OfAPlainPlugin) {
  const Plan plan = MakePlan(WorldOf({StaticPlugin()}, {GpuNode("n1"), GpuNode("n2")}));
  ASSERT_THAT(Order(plan), ElementsAre("n1", "n2"));
  EXPECT_TRUE(plan.HasWork());
  EXPECT_THAT(plan.nodes[0].parts,
              ElementsAre(Part{.component = Component::kPlugin,
                               .space = "kube-system",
                               .daemon_set = "nvidia-device-plugin-daemonset"}));
  const PlannedWorkload& plugin = Of(plan, Component::kPlugin);
  EXPECT_EQ(plugin.nodes, 2U);
  EXPECT_EQ(plugin.removal,
            "kubectl -n kube-system delete daemonset nvidia-device-plugin-daemonset");
}

TEST(PlanTest, OfTheOperatorUsesItsLabelsAndKeepsItsDriver) {
  const Plan plan = MakePlan(OperatorWorld({GpuNode("n1")}));
  ASSERT_THAT(Order(plan), ElementsAre("n1"));
  std::vector<std::string> labels;
  for (const Part& part : plan.nodes[0].parts) {
    labels.push_back(part.deploy_label);
  }
  EXPECT_THAT(labels, ElementsAre("nvidia.com/gpu.deploy.device-plugin",
                                  "nvidia.com/gpu.deploy.gpu-feature-discovery",
                                  "nvidia.com/gpu.deploy.dcgm-exporter"));
  EXPECT_EQ(Of(plan, Component::kDriver).fate, Fate::kStays);
  EXPECT_EQ(plan.carried.driver_root, "/run/nvidia/driver");
  EXPECT_EQ(Of(plan, Component::kNfdWorker).fate, Fate::kStays)
      << "the operator needs NFD's labels";
  EXPECT_EQ(Of(plan, Component::kPlugin).removal,
            "helm -n gpu-operator upgrade gpu-operator-1 nvidia/gpu-operator --reuse-values "
            "--set devicePlugin.enabled=false");
}

TEST(PlanTest, WithoutAnOperatorNfdIsReplaced) {
  const Plan plan = MakePlan(WorldOf({StaticPlugin(), NfdWorker()}, {GpuNode("n1")}));
  EXPECT_EQ(Of(plan, Component::kNfdWorker).fate, Fate::kReplaced);
  EXPECT_EQ(Of(plan, Component::kNfdWorker).removal,
            "helm -n node-feature-discovery uninstall nfd");
}

TEST(PlanTest, OfAnOperatorFromOlmPatchesItsPolicy) {
  World world = OperatorWorld({GpuNode("n1")});
  world.workloads.back().by = InstalledBy::kOlm;
  EXPECT_EQ(Of(MakePlan(world), Component::kGfd).removal,
            R"(kubectl patch clusterpolicy cluster-policy --type merge -p )"
            R"('{"spec":{"gfd":{"enabled":false}}}')");
}

TEST(PlanTest, NodesWithFewPodsComeFirst) {
  World world = WorldOf({StaticPlugin()}, {GpuNode("n1"), GpuNode("n2"), GpuNode("n3")});
  world.pods.push_back(GpuPod("n1", "a"));
  world.pods.push_back(GpuPod("n1", "b"));
  world.pods.push_back(GpuPod("n2", "c"));
  const Plan plan = MakePlan(world);
  EXPECT_THAT(Order(plan), ElementsAre("n3", "n2", "n1"));
  EXPECT_EQ(plan.nodes[2].gpu_pods, 2U);
}

TEST(PlanTest, OnlyNodesWithGpusOrThoseNamed) {
  SeenNode plain;
  plain.name = "cpu1";
  const World world = WorldOf({StaticPlugin(), NfdWorker()}, {plain, GpuNode("n1"), GpuNode("n2")});
  EXPECT_THAT(Order(MakePlan(world)), ElementsAre("n1", "n2"));
  EXPECT_THAT(Order(MakePlan(world, {.nodes = {"n2"}})), ElementsAre("n2"));
  EXPECT_THAT(MakePlan(world, {.nodes = {"n9"}}).problems, ElementsAre(HasSubstr("no node n9")));
}

TEST(PlanTest, LeavesNodesAloneThatItCannotServe) {
  World world = OperatorWorld({GpuNode("vm", {{"nvidia.com/gpu.workload.config", "vm-vgpu"}}),
                               GpuNode("mps", {{"nvidia.com/mps.capable", "true"}}),
                               GpuNode("named", {{"nvidia.com/device-plugin.config", "tegra"}}),
                               GpuNode("ok")});
  world.workloads.push_back(
      *ReadWorkload(OperandOf("mps", "mps-control-daemon-ctr", "x"), "DaemonSet"));
  world.foreign.plugins[0].config = MapKey{.space = "gpu-operator", .name = "configs"};
  world.foreign.plugins[0].default_config = "any";
  world.foreign.maps[*world.foreign.plugins[0].config] = {
      {"any", "version: v1\n"},
      {"tegra", "version: v1\nflags: {deviceDiscoveryStrategy: tegra}\n"}};
  const Plan plan = MakePlan(world);
  std::map<std::string, std::string> skipped;
  for (const NodePlan& node : plan.nodes) {
    skipped[node.name] = node.skipped;
  }
  EXPECT_THAT(skipped.at("vm"), HasSubstr("virtual machines"));
  EXPECT_THAT(skipped.at("mps"), HasSubstr("MPS"));
  EXPECT_THAT(skipped.at("named"), HasSubstr("data.tegra"));
  EXPECT_EQ(skipped.at("ok"), "");
  EXPECT_EQ(plan.nodes.front().name, "ok");
}

TEST(PlanTest, DriversOnHostsAndInContainersDoNotMix) {
  World world = OperatorWorld({GpuNode("n1"), GpuNode("host")});
  std::erase_if(world.pods, [](const SeenPod& pod) {
    return pod.node == "host" && pod.daemon_set == "nvidia-driver-daemonset";
  });
  const Plan plan = MakePlan(world);
  EXPECT_EQ(plan.nodes[0].name, "n1");
  EXPECT_THAT(plan.nodes[1].skipped, HasSubstr("its driver is on the host"));
  // Without any driver container, the policy's folder does not matter.
  std::erase_if(world.workloads,
                [](const Workload& workload) { return workload.component == Component::kDriver; });
  EXPECT_EQ(MakePlan(world).carried.driver_root, "");
  EXPECT_EQ(MakePlan(world).nodes[1].skipped, "");
}

TEST(PlanTest, ATakenNodeKeepsItsParts) {
  World world = OperatorWorld({GpuNode("n1", {{"nvidia.com/gpu.deploy.device-plugin", "true"},
                                              {"nvidia.com/gpu.deploy.dcgm-exporter", "true"}})});
  const Plan plan = MakePlan(world);
  SeenNode& node = world.nodes[0];
  const auto patch = LeavePatch(node, plan.nodes[0], {});
  ASSERT_TRUE(patch);
  for (const auto& [key, value] : patch->at("metadata").at("labels").get_object()) {
    node.labels[key] = value.get_string().c_str();
  }
  node.annotations[std::string(kRecordAnnotation)] =
      patch->at("metadata").at("annotations").at(kRecordAnnotation).get_string().c_str();
  world.pods.clear();
  const Plan again = MakePlan(world);
  ASSERT_THAT(Order(again), ElementsAre("n1"));
  EXPECT_TRUE(again.nodes[0].is_taken);
  EXPECT_EQ(again.nodes[0].parts, plan.nodes[0].parts);
}

TEST(PlanTest, WarnsOfWhatWouldUndoIt) {
  World world = WorldOf({StaticPlugin()}, {GpuNode("n1")});
  world.workloads[0].reconciler = "Argo CD";
  EXPECT_THAT(MakePlan(world).warnings, ElementsAre(HasSubstr("Argo CD, which undoes")));
}

TEST(PlanTest, AnInstallationKeepsItsOwnConfiguration) {
  World world = WorldOf({StaticPlugin()}, {GpuNode("n1")});
  world.has_agent = true;
  EXPECT_THAT(MakePlan(world).warnings, ElementsAre(HasSubstr("kgpu is installed already")));
  world.is_agent_ours = true;
  EXPECT_THAT(MakePlan(world).warnings, IsEmpty());
}

TEST(PlanTest, NothingFoundIsSaid) {
  const Plan plan = MakePlan(World());
  EXPECT_FALSE(plan.HasWork());
  EXPECT_THAT(PlanText(plan), HasSubstr("nothing to take over"));
}

TEST(PlanTest, IsPrinted) {
  World world = OperatorWorld({GpuNode("n1")});
  world.pods.push_back(GpuPod("n1", "train"));
  const std::string text = PlanText(MakePlan(world));
  EXPECT_THAT(text, HasSubstr("NVIDIA's device plugin"));
  EXPECT_THAT(text, HasSubstr("v0.17.1"));
  EXPECT_THAT(text, HasSubstr("1 keep running"));
  EXPECT_THAT(text, HasSubstr("replace dcgm-exporter, device-plugin, gpu-feature-discovery"));
  EXPECT_THAT(text, HasSubstr("the agent reads the driver in /run/nvidia/driver"));
  const json::value tree = PlanJson(MakePlan(world));
  EXPECT_EQ(tree.at("nodes").at(0).at("replaces").at(0).at("by"),
            "label nvidia.com/gpu.deploy.device-plugin=false");
  EXPECT_EQ(tree.at("settings").at("config").at("migStrategy"), "single");
}

}  // namespace
}  // namespace kgpu::adopt
