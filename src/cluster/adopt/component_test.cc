#include "src/cluster/adopt/component.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "src/cluster/adopt/test_cluster.h"

namespace kgpu::adopt {
namespace {

struct Case {
  std::string container;
  std::string image;
  Component component;
};

TEST(ComponentTest, IsRecognisedByItsContainer) {
  const std::vector<Case> cases = {
      {"nvidia-device-plugin-ctr", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", Component::kPlugin},
      {"nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", Component::kPlugin},
      {"plugin", "example.com/mirror/k8s-device-plugin:v0.16.2", Component::kPlugin},
      // One image has three components.
      {"gpu-feature-discovery-ctr", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", Component::kGfd},
      {"mps-control-daemon-ctr", "nvcr.io/nvidia/k8s-device-plugin:v0.17.1", Component::kMps},
      {"gpu-feature-discovery", "nvcr.io/nvidia/gpu-feature-discovery:v0.8.2", Component::kGfd},
      {"exporter", "nvcr.io/nvidia/k8s/dcgm-exporter:3.3.5-3.4.1-ubuntu22.04",
       Component::kExporter},
      {"nvidia-dcgm-exporter", "nvcr.io/nvidia/k8s/dcgm-exporter@sha256:00", Component::kExporter},
      {"nvidia-dcgm-ctr", "nvcr.io/nvidia/cloud-native/dcgm:3.3.5-1-ubuntu22.04",
       Component::kHostEngine},
      {"nvidia-driver-ctr", "nvcr.io/nvidia/driver:550.54.15-ubuntu22.04", Component::kDriver},
      {"nvidia-container-toolkit-ctr", "nvcr.io/nvidia/k8s/container-toolkit:v1.17.5-ubuntu20.04",
       Component::kToolkit},
      {"nvidia-operator-validator", "nvcr.io/nvidia/cloud-native/gpu-operator-validator:v25.3.0",
       Component::kValidator},
      {"nvidia-mig-manager", "nvcr.io/nvidia/cloud-native/k8s-mig-manager:v0.12.1-ubuntu20.04",
       Component::kMigManager},
      {"nvidia-sandbox-device-plugin-ctr", "nvcr.io/nvidia/kubevirt-gpu-device-plugin:v1.3.1",
       Component::kSandbox},
      {"nvidia-vgpu-manager-ctr", "example.com/vgpu-manager:550", Component::kSandbox},
      {"worker", "registry.k8s.io/nfd/node-feature-discovery:v0.17.3", Component::kNfdWorker},
      {"nfd-worker", "quay.io/openshift/origin-node-feature-discovery:4.18", Component::kNfdWorker},
      {"master", "registry.k8s.io/nfd/node-feature-discovery:v0.17.3", Component::kNfdMaster},
      {"gc", "registry.k8s.io/nfd/node-feature-discovery:v0.17.3", Component::kNfdMaster},
      {"topology-updater", "registry.k8s.io/nfd/node-feature-discovery:v0.17.3",
       Component::kNfdMaster},
      {"gpu-operator", "nvcr.io/nvidia/gpu-operator:v25.3.0", Component::kOperator},
      {"gpus", "nvcr.io/nvidia/k8s-dra-driver-gpu:v25.3.0", Component::kDra},
      {"nvidia-gpu-device-plugin", "gke.gcr.io/nvidia-gpu-device-plugin:1.0",
       Component::kGkePlugin},
  };
  for (const Case& one : cases) {
    const auto workload = ReadWorkload(
        DaemonSet({.name = "x", .container = one.container, .image = one.image}), "DaemonSet");
    ASSERT_TRUE(workload.has_value()) << one.container << " " << one.image;
    EXPECT_EQ(FactsOf(workload->component).id, FactsOf(one.component).id)
        << one.container << " " << one.image;
  }
}

TEST(ComponentTest, OthersAreNone) {
  EXPECT_FALSE(ReadWorkload(
      DaemonSet({.name = "worker", .container = "worker", .image = "busybox"}), "DaemonSet"));
  EXPECT_FALSE(ReadWorkload(
      DaemonSet({.name = "kgpu-agent", .container = "agent", .image = "ghcr.io/x/kgpu:1"}),
      "DaemonSet"));
  EXPECT_FALSE(ReadWorkload(Json("{}"), "DaemonSet"));
  EXPECT_FALSE(ReadWorkload(Json(R"({"spec":{"template":{"spec":{"containers":3}}}})"), "x"));
}

TEST(ComponentTest, EveryComponentHasItsFacts) {
  for (const ComponentFacts& facts : AllComponents()) {
    EXPECT_EQ(&FactsOf(facts.component), &facts) << facts.id;
    EXPECT_FALSE(facts.by.empty()) << facts.id;
  }
}

TEST(ComponentTest, VersionIsTheImagesTag) {
  EXPECT_EQ(VersionOfImage("nvcr.io/nvidia/k8s-device-plugin:v0.17.1"), "v0.17.1");
  EXPECT_EQ(VersionOfImage("localhost:5000/plugin:v1@sha256:00"), "v1");
  EXPECT_EQ(VersionOfImage("localhost:5000/plugin"), "");
  EXPECT_EQ(VersionOfImage("plugin@sha256:00"), "");
}

TEST(ComponentTest, ShowsWhoInstalledIt) {
  const auto plain = ReadWorkload(StaticPlugin(), "DaemonSet");
  EXPECT_EQ(plain->by, InstalledBy::kManifest);
  EXPECT_EQ(plain->version, "v0.17.1");
  const auto operand = ReadWorkload(OperandPlugin(), "DaemonSet");
  EXPECT_EQ(operand->by, InstalledBy::kGpuOperator);
  const auto chart = ReadWorkload(OperatorDeployment(), "Deployment");
  EXPECT_EQ(chart->by, InstalledBy::kHelm);
  EXPECT_EQ(chart->release, "gpu-operator-1");
  EXPECT_EQ(chart->release_space, "gpu-operator");
  const auto olm =
      ReadWorkload(DaemonSet({.name = "x",
                              .container = "gpu-operator",
                              .metadata = R"(,"ownerReferences":[{"kind":"ClusterServiceVersion",
                     "name":"gpu-operator-certified.v25.3.0"}])"}),
                   "Deployment");
  EXPECT_EQ(olm->by, InstalledBy::kOlm);
  EXPECT_EQ(olm->release, "gpu-operator-certified.v25.3.0");
}

TEST(ComponentTest, ShowsWhatWouldUndoAChange) {
  const auto with = [](const std::string& metadata) {
    return ReadWorkload(
               DaemonSet(
                   {.name = "x", .container = "nvidia-device-plugin-ctr", .metadata = metadata}),
               "DaemonSet")
        ->reconciler;
  };
  EXPECT_EQ(with(R"(,"annotations":{"argocd.argoproj.io/tracking-id":"gpu:apps/DaemonSet:x/y"})"),
            "Argo CD");
  EXPECT_EQ(with(R"(,"labels":{"kustomize.toolkit.fluxcd.io/name":"gpu"})"), "Flux");
  EXPECT_EQ(with(""), "");
}

}  // namespace
}  // namespace kgpu::adopt
