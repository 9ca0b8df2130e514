#include "src/cluster/adopt/test_cluster.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <utility>

#include "src/platform/doc/doc.h"

namespace kgpu::adopt {

namespace json = boost::json;

json::value Json(std::string_view text) {
  auto value = doc::Parse(text, doc::Format::kJson, "test");
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? *std::move(value) : json::value();
}

json::value DaemonSet(const SetText& text) {
  return Json(fmt::format(
      R"({{"apiVersion":"apps/v1","kind":"DaemonSet",
      "metadata":{{"name":"{1}","namespace":"{0}"{4}}},
      "spec":{{"selector":{{"matchLabels":{{"app":"{1}"}}}},
        "updateStrategy":{{"type":"RollingUpdate","rollingUpdate":{{"maxUnavailable":1}}}},
        "template":{{"metadata":{{"labels":{{"app":"{1}"}}}},
          "spec":{{"containers":[{{"name":"{2}","image":"{3}"{5}}}]{6}}}}}}}}})",
      text.space, text.name, text.container, text.image, text.metadata, text.more, text.pod_spec));
}

json::value StaticPlugin() {
  return DaemonSet({.name = "nvidia-device-plugin-daemonset",
                    .container = "nvidia-device-plugin-ctr",
                    .image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1",
                    .more = R"(,"env":[{"name":"FAIL_ON_INIT_ERROR","value":"false"}])"});
}

namespace {

constexpr std::string_view kOfPolicy =
    R"(,"labels":{"app":"x","app.kubernetes.io/managed-by":"gpu-operator"},
       "ownerReferences":[{"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy",
         "name":"cluster-policy","uid":"p1","controller":true,"blockOwnerDeletion":true}])";

}  // namespace

json::value OperandPlugin(const std::string& env, const std::string& pod_spec) {
  return DaemonSet(
      {.space = "gpu-operator",
       .name = "nvidia-device-plugin-daemonset",
       .container = "nvidia-device-plugin",
       .image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1",
       .metadata = std::string(kOfPolicy),
       .more = fmt::format(
           R"(,"env":[{{"name":"PASS_DEVICE_SPECS","value":"true"}},
              {{"name":"DEVICE_LIST_STRATEGY","value":"envvar"}},
              {{"name":"DEVICE_ID_STRATEGY","value":"uuid"}},
              {{"name":"MIG_STRATEGY","value":"single"}}{}],
              "volumeMounts":[{{"name":"plugin-config","mountPath":"/available-configs"}}])",
           env),
       .pod_spec = R"(,"nodeSelector":{"nvidia.com/gpu.deploy.device-plugin":"true"})" + pod_spec});
}

json::value OperandOf(std::string_view component, std::string_view container,
                      std::string_view image) {
  return DaemonSet({.space = "gpu-operator",
                    .name = std::string(component),
                    .container = std::string(container),
                    .image = std::string(image),
                    .metadata = std::string(kOfPolicy)});
}

json::value OperatorDeployment() {
  return Json(R"({"metadata":{"name":"gpu-operator","namespace":"gpu-operator",
      "labels":{"app.kubernetes.io/managed-by":"Helm","app":"gpu-operator"},
      "annotations":{"meta.helm.sh/release-name":"gpu-operator-1",
                     "meta.helm.sh/release-namespace":"gpu-operator"}},
    "spec":{"template":{"spec":{"containers":[{"name":"gpu-operator",
      "image":"nvcr.io/nvidia/gpu-operator:v25.3.0"}]}}}})");
}

json::value PlainExporter(const std::string& env, const std::string& args,
                          const std::string& volumes) {
  return DaemonSet(
      {.space = "monitoring",
       .name = "dcgm-exporter",
       .container = "exporter",
       .image = "nvcr.io/nvidia/k8s/dcgm-exporter:3.3.5-3.4.1-ubuntu22.04",
       .metadata = R"(,"annotations":{"meta.helm.sh/release-name":"dcgm",
                       "meta.helm.sh/release-namespace":"monitoring"})",
       .more = fmt::format(
           R"(,"args":[{}],"env":[{{"name":"DCGM_EXPORTER_KUBERNETES","value":"true"}}{}],
              "volumeMounts":[{{"name":"fields","mountPath":"/etc/dcgm-exporter/my.csv",
                "subPath":"counters"}}])",
           args, env),
       .pod_spec = volumes});
}

json::value NfdWorker() {
  return DaemonSet({.space = "node-feature-discovery",
                    .name = "nfd-node-feature-discovery-worker",
                    .container = "worker",
                    .image = "registry.k8s.io/nfd/node-feature-discovery:v0.17.3",
                    .metadata = R"(,"annotations":{"meta.helm.sh/release-name":"nfd",
                       "meta.helm.sh/release-namespace":"node-feature-discovery"})"});
}

SeenNode GpuNode(std::string name, std::map<std::string, std::string> labels) {
  SeenNode node;
  node.name = std::move(name);
  node.version = "7";
  node.labels = std::move(labels);
  node.labels.emplace("nvidia.com/gpu.present", "true");
  node.gpus = {{"nvidia.com/gpu", 8}};
  node.is_ready = true;
  return node;
}

SeenPod PodOf(const std::string& node, const Workload& workload) {
  SeenPod pod;
  pod.space = workload.space;
  pod.name = fmt::format("{}-{}", workload.name, node);
  pod.uid = pod.name;
  pod.node = node;
  pod.daemon_set = workload.name;
  pod.is_running = true;
  pod.is_ready = true;
  return pod;
}

SeenPod GpuPod(const std::string& node, const std::string& name) {
  return {.space = "team-a",
          .name = name,
          .uid = "uid-" + name,
          .node = node,
          .is_running = true,
          .is_ready = true,
          .has_gpus = true,
          .ids = {"main=containerd://" + name}};
}

World WorldOf(const std::vector<json::value>& daemon_sets, std::vector<SeenNode> nodes) {
  World world;
  world.nodes = std::move(nodes);
  for (const json::value& set : daemon_sets) {
    const auto workload = ReadWorkload(set, "DaemonSet");
    EXPECT_TRUE(workload.has_value()) << json::serialize(set);
    if (!workload) {
      continue;
    }
    if (workload->component == Component::kPlugin) {
      world.foreign.plugins.push_back(ReadPluginSettings(set));
    }
    if (workload->component == Component::kExporter) {
      world.foreign.exporters.push_back(ReadExporterSettings(set, workload->version));
    }
    for (const SeenNode& node : world.nodes) {
      world.pods.push_back(PodOf(node.name, *workload));
    }
    world.workloads.push_back(*workload);
  }
  return world;
}

}  // namespace kgpu::adopt
