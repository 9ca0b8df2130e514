#include "src/node/object/owners.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::node {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SeenPod NfdWorker() {
  return {.name_space = "node-feature-discovery",
          .name = "nfd-worker-x7",
          .labels = {{"app.kubernetes.io/name", "node-feature-discovery"},
                     {"app.kubernetes.io/instance", "nfd"},
                     {"role", "worker"}},
          .images = {"registry.k8s.io/nfd/node-feature-discovery:v0.19.0"},
          .containers = {"worker"},
          .daemon_set = "nfd-worker"};
}

SeenNode NodeWithNfdMarks() {
  SeenNode node;
  node.name = "n1";
  node.annotations.values["nfd.node.kubernetes.io/feature-labels"] = "cpu-model.id";
  node.labels.values["feature.node.kubernetes.io/cpu-model.id"] = "85";
  node.labels.others["feature.node.kubernetes.io/cpu-model.id"] = {"nfd-master"};
  return node;
}

TEST(OwnersTest, ACleanNodeHasNone) {
  SeenNode node;
  node.labels.values["kubernetes.io/hostname"] = "n1";
  const Evidence evidence{.node = &node, .pods = std::vector<SeenPod>{}};
  EXPECT_FALSE(HasMarks(evidence));
  EXPECT_TRUE(FindOwners(evidence).found.empty());
}

TEST(OwnersTest, TellsWhosePodItIs) {
  EXPECT_EQ(OwnerOfPod(NfdWorker()), Owner::kNfd);
  SeenPod pod = NfdWorker();
  pod.labels["role"] = "master";
  pod.containers = {"master"};
  EXPECT_EQ(OwnerOfPod(pod), std::nullopt);
  pod = {};
  pod.images = {"nvcr.io/nvidia/k8s-device-plugin:v0.18.0"};
  pod.containers = {"nvidia-device-plugin"};
  EXPECT_EQ(OwnerOfPod(pod), Owner::kPlugin);
  pod.containers = {"gpu-feature-discovery"};
  EXPECT_EQ(OwnerOfPod(pod), Owner::kGfd);
  pod = {};
  pod.labels = {{"k8s-app", "nvidia-gpu-device-plugin"}};
  EXPECT_EQ(OwnerOfPod(pod), Owner::kPlugin);
  pod.labels = {{"app.kubernetes.io/managed-by", "gpu-operator"}};
  EXPECT_EQ(OwnerOfPod(pod), Owner::kOperator);
  pod.labels = {{"app", "postgres"}};
  EXPECT_EQ(OwnerOfPod(pod), std::nullopt);
}

TEST(OwnersTest, StandsBackFromARunningWorkerAndNamesItsRemoval) {
  const SeenNode node = NodeWithNfdMarks();
  const Owners owners = FindOwners({.node = &node, .pods = std::vector{NfdWorker()}});
  ASSERT_EQ(owners.found.size(), 1U);
  EXPECT_TRUE(owners.StandsBackFor(Owner::kNfd));
  EXPECT_FALSE(owners.StandsBackFor(Owner::kGfd));
  EXPECT_EQ(owners.found[0].removal, "helm -n node-feature-discovery uninstall nfd");
  EXPECT_THAT(owners.found[0].marks,
              ::testing::Contains("pod node-feature-discovery/nfd-worker-x7"));
}

TEST(OwnersTest, MarksAloneCountAsRunningWhilePodsAreNotKnown) {
  const SeenNode node = NodeWithNfdMarks();
  EXPECT_TRUE(FindOwners({.node = &node}).StandsBackFor(Owner::kNfd));
  EXPECT_FALSE(
      FindOwners({.node = &node, .pods = std::vector<SeenPod>{}}).StandsBackFor(Owner::kNfd));
}

TEST(OwnersTest, MarksOfOursAreNoOthers) {
  SeenNode node;
  node.labels.values["nvidia.com/gfd.timestamp"] = "1";
  node.labels.ours = {"nvidia.com/gfd.timestamp"};
  EXPECT_FALSE(HasMarks({.node = &node}));
  node.labels.ours.clear();
  EXPECT_TRUE(FindOwners({.node = &node}).StandsBackFor(Owner::kGfd));
}

TEST(OwnersTest, AFileOfGfdIsPublishedWhileTheWorkerRuns) {
  SeenNode node;
  Evidence evidence{.node = &node, .pods = std::vector{NfdWorker()}, .has_gfd_file = true};
  EXPECT_TRUE(FindOwners(evidence).StandsBackFor(Owner::kGfd));
  evidence.pods = std::vector<SeenPod>{};
  EXPECT_FALSE(FindOwners(evidence).StandsBackFor(Owner::kGfd));
}

TEST(OwnersTest, ASocketIsAServer) {
  const Owners owners = FindOwners(
      {.pods = std::vector<SeenPod>{}, .sockets = {"amd.com_gpu.sock", "nvidia-gpu.sock"}});
  EXPECT_TRUE(owners.StandsBackFor(Owner::kPlugin));
  ASSERT_EQ(owners.found.size(), 1U);
  EXPECT_THAT(owners.found[0].marks, ElementsAre(HasSubstr("nvidia-gpu.sock")));
}

TEST(OwnersTest, OfTheOperatorAreSwitchedOffInItsChart) {
  SeenNode node;
  node.labels.values["nvidia.com/gpu.deploy.device-plugin"] = "true";
  const Owners owners = FindOwners({.node = &node, .sockets = {"nvidia-gpu.sock"}});
  const OwnerFound* plugin = owners.Find(Owner::kPlugin);
  ASSERT_NE(plugin, nullptr);
  EXPECT_THAT(plugin->removal, HasSubstr("--set devicePlugin.enabled=false"));
  EXPECT_NE(owners.Find(Owner::kOperator), nullptr);
}

TEST(OwnersTest, AnAdoptionIsReadFromTheNode) {
  SeenNode node = NodeWithNfdMarks();
  node.annotations.values[std::string(kAdoptedAnnotation)] = "nfd, later-kind";
  const Owners owners = FindOwners({.node = &node});
  EXPECT_FALSE(owners.StandsBackFor(Owner::kNfd));
  EXPECT_THAT(owners.adopted, ElementsAre(Owner::kNfd));
  EXPECT_EQ(OwnersText({Owner::kPlugin, Owner::kNfd}), "nfd,plugin");
}

TEST(OwnersTest, WhoCameLaterDoesNotPushUsOut) {
  SeenNode node = NodeWithNfdMarks();
  node.labels.ours = {"feature.node.kubernetes.io/cpu-cpuid.AVX2"};
  const Owners owners = FindOwners({.node = &node});
  EXPECT_FALSE(owners.StandsBackFor(Owner::kNfd));
  EXPECT_TRUE(owners.found.at(0).came_later);
}

TEST(OwnersTest, AReleaseWinsOverWhoCameFirst) {
  SeenNode node;
  node.labels.ours = {"nvidia.com/gpu.count"};
  node.annotations.values[std::string(kReleasedAnnotation)] = "gfd";
  EXPECT_TRUE(FindOwners({.node = &node}).StandsBackFor(Owner::kGfd));
}

TEST(OwnersTest, DomainsAreThePrefixes) {
  EXPECT_EQ(DomainOf("feature.node.kubernetes.io/cpu-model.id"), Owner::kNfd);
  EXPECT_EQ(DomainOf("nvidia.com/gpu.count"), Owner::kGfd);
  EXPECT_EQ(DomainOf("kgpu.dev/gpu.model"), std::nullopt);
}

TEST(OwnersTest, ParsesTheThreeThatCanBeAdopted) {
  EXPECT_THAT(ParseOwner("gfd"), IsOkAndHolds(Owner::kGfd));
  EXPECT_THAT(ParseOwner("operator"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nfd, gfd")));
}

TEST(OwnersTest, ReadsAPod) {
  const SeenPod pod = ReadPod(boost::json::parse(R"({
    "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "x"},
                 "ownerReferences": [{"kind": "DaemonSet", "name": "ds"}]},
    "spec": {"containers": [{"name": "c", "image": "i:1"}]}})"));
  EXPECT_EQ(pod, (SeenPod{"ns", "p", {{"app", "x"}}, {"i:1"}, {"c"}, "ds"}));
}

}  // namespace
}  // namespace kgpu::node
