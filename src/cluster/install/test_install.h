// A small installation for tests: an agent, its configuration and a definition, on a cluster with
// controllers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/install/installer.h"
#include "src/kube/api/json.h"
#include "src/kube/objects/manifests.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/cluster/cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::install {

inline constexpr std::string_view kSmallSet = R"(
apiVersion: v1
kind: Namespace
metadata: {name: kgpu, labels: {LABELS}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gpupolicies.kgpu.dev, labels: {LABELS}}
spec:
  group: kgpu.dev
  scope: Cluster
  names: {plural: gpupolicies, singular: gpupolicy, kind: GpuPolicy, listKind: GpuPolicyList}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: kgpu-agent, namespace: kgpu, labels: {LABELS}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: kgpu-agent, labels: {LABELS}}
rules:
  - {apiGroups: [""], resources: [nodes], verbs: [get, patch]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kgpu-agent, namespace: kgpu, labels: {LABELS}}
data: {config.yaml: CONFIG}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kgpu-agent, namespace: kgpu, labels: {LABELS}}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: kgpu-agent}}
  template:
    metadata: {labels: {app.kubernetes.io/name: kgpu-agent}}
    spec:
      serviceAccountName: kgpu-agent
      tolerations: [{operator: Exists}]
      containers:
        - name: agent
          image: localhost/kgpu:latest
          args: [agent]
          securityContext: {privileged: true}
)";

// `config` is the text in the ConfigMap.
inline std::vector<boost::json::value> SmallSet(std::string_view config = "a") {
  std::string text(kSmallSet);
  const auto replace = [&](std::string_view word, std::string_view with) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), with);
    }
  };
  replace("LABELS", "app.kubernetes.io/part-of: kgpu, app.kubernetes.io/managed-by: kgpu-cluster");
  replace("CONFIG", config);
  const auto parsed = kube::ParseManifests(text, "small.yaml");
  EXPECT_OK(parsed);
  std::vector<boost::json::value> objects;
  for (const kube::ManifestObject& item : *parsed) {
    objects.push_back(item.object);
  }
  return objects;
}

// A cluster with two nodes whose kubelets run pods; one that clears a host ends by itself.
struct TestInstallation : kube::TestCluster {
  TestInstallation() {
    sim.SetScript([](const boost::json::object& pod) {
      simcluster::PodPlan plan;
      const boost::json::value object(pod);
      if (kube::NameOf(object).starts_with("kgpu-clear-")) {
        plan.run_time = std::chrono::seconds(1);
      }
      return plan;
    });
    for (const char* name : {"n1", "n2"}) {
      EXPECT_OK(sim.AddNode({.name = name, .resources = {{"nvidia.com/gpu", "8"}}}));
    }
    loop.Advance(std::chrono::seconds(5));
  }

  static InstallRequest Request(std::vector<boost::json::value> objects) {
    return {.version = "0.1.0",
            .objects = std::move(objects),
            .request = {{"settings", boost::json::array{"a=b"}}}};
  }
  Status DoInstall(std::vector<boost::json::value> objects = SmallSet()) {
    kube::Kinds kinds(client);
    report = {};
    return Install(client, kinds, Request(std::move(objects)), report);
  }
  Status DoInstall(const InstallRequest& request) {
    kube::Kinds kinds(client);
    report = {};
    return Install(client, kinds, request, report);
  }

  simcluster::Cluster sim{loop, api};
  InstallReport report;
};

}  // namespace kgpu::install
