// The kubelet of the well host, and what agent and cluster say of it: files of the tree stand for
// their answers.
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <filesystem>

#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kPlugins = "var/lib/kubelet/device-plugins";

std::vector<std::string> Quoted(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) {
    quoted.push_back(fmt::format("\"{}\"", text));
  }
  return quoted;
}

std::vector<node::SeenPod> ReadPods(const boost::json::value& list) {
  std::vector<node::SeenPod> pods;
  const boost::json::value* items = kube::FindField(list, {"items"});
  if (items != nullptr && items->is_array()) {
    for (const boost::json::value& item : items->get_array()) {
      pods.push_back(node::ReadPod(item));
    }
  }
  return pods;
}

}  // namespace

void HealthyHost::AddKubelet() const {
  host_.AddProgram("usr/bin/kubelet");
  AddProcess(720, "kubelet",
             {"/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml", "--v=2"});
  AddProcess(730, "kgpu", {"/usr/bin/kgpu", "agent"});
  Write("var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\ncgroupDriver: systemd\n");
  Write("var/lib/kubelet/plugins_registry/x", "");
  Write(kKubeletVersion, "Kubernetes v1.31.2\n");
  Listen("var/lib/kubelet/pod-resources/kubelet.sock");
  Listen(fmt::format("{}/kubelet.sock", kPlugins));
  Listen(fmt::format("{}/kgpu-nvidia.com_gpu.sock", kPlugins));
  SetRegistered({"GPU-0", "GPU-1"});
  SetAgent({});
  SetNode({});
  Write(kPods, R"({"items": []})");
  Write(kAgentSets, R"({"items": [{"metadata": {"namespace": "kgpu", "name": "agent"},
      "spec": {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}}}]})");
}

void HealthyHost::Listen(std::string_view path) const {
  const std::string at = dir().At(path);
  std::filesystem::create_directories(std::filesystem::path(at).parent_path());
  StatusOr<sys::UnixListener> listener = sys::UnixListener::Listen(at, {});
  if (listener.ok()) {
    listeners_->push_back(*std::move(listener));
  }
}

void HealthyHost::SetRegistered(const std::vector<std::string>& ids) const {
  Write(fmt::format("{}/kubelet_internal_checkpoint", kPlugins),
        fmt::format(R"({{"Data": {{"PodDeviceEntries": null,
                        "RegisteredDevices": {{"nvidia.com/gpu": [{}]}}}}, "Checksum": 1}})",
                    Join(Quoted(ids), ",")));
}

void HealthyHost::SetAgent(const SaidByAgent& said) const {
  std::vector<std::string> devices;
  for (size_t i = 0; i < said.devices; ++i) {
    devices.push_back(fmt::format(
        R"({{"id": "GPU-{0}", "device": "GPU-{0}", "healthy": {1}, "reason": "{2}",
            "message": "xid 79"}})",
        i, i >= said.unhealthy, said.reason));
  }
  Write(kAgentStatus,
        fmt::format(R"({{"ready": {}, "obstacle": "{}", "resources": [{{"name": "nvidia.com/gpu",
            "capacity": {}, "allocatable": {}, "state": "{}", "devices": [{}]}}]}})",
                    said.is_ready, said.obstacle, said.devices, said.devices - said.unhealthy,
                    said.state, Join(devices, ",")));
}

void HealthyHost::SetNode(const SaidByCluster& said) const {
  Write(kNode,
        fmt::format(R"({{"metadata": {{"name": "n1", "labels": {{{}}}}},
      "spec": {{"taints": [{}]}}, "status": {{"conditions": [{}],
      "capacity": {{"nvidia.com/gpu": "{}"}}, "allocatable": {{"nvidia.com/gpu": "{}"}}}}}})",
                    said.labels, said.taints, said.conditions, said.capacity, said.allocatable));
}

Heard HealthyHost::Hear() const {
  const auto read = [this](std::string_view path) {
    const StatusOr<sys::Root> root = sys::Root::Open(host_.path());
    return root.ok() ? root->ReadFile(path) : root.status();
  };
  Heard heard;
  heard.driver = *driver_;
  if (const auto text = read(kAgentStatus); text.ok()) {
    if (auto agent = ParseAgentStatus(*text); agent.ok()) {
      heard.agent = *std::move(agent);
      if (const auto health = read(kAgentHealth); health.ok()) {
        (void)ReadAgentHealth(*health, *heard.agent);
      }
    }
  }
  const auto node_text = read(kNode);
  const auto tree = kube::ParseObject(node_text.ok() ? *node_text : "", "node");
  if (!tree.ok()) {
    return heard;
  }
  ClusterFacts cluster;
  if (auto node = node::ReadNode(*tree); node.ok()) {
    cluster.node = *std::move(node);
  }
  cluster.pods = ReadPods(*kube::ParseObject(dir().ReadFile(kPods), "pods"));
  cluster.agent_sets = ReadAgentSets(*kube::ParseObject(dir().ReadFile(kAgentSets), "sets"));
  heard.cluster = std::move(cluster);
  return heard;
}

}  // namespace kgpu::doctor
