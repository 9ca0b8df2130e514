#include "src/cluster/adopt/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "src/kube/api/conditions.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;

constexpr std::string_view kChunk = "250";
constexpr size_t kMostObjects = 200'000;
constexpr std::string_view kGpuPrefix = "nvidia.com/";
constexpr std::string_view kReady = "GPUReady";

constexpr kube::Resource kDaemonSets{"apps", "v1", "daemonsets"};
constexpr kube::Resource kDeployments{"apps", "v1", "deployments"};
constexpr kube::Resource kConfigMaps{"", "v1", "configmaps"};
constexpr kube::Resource kPolicies{"nvidia.com", "v1", "clusterpolicies"};

std::map<std::string, std::string> TextsAt(const json::value& object,
                                           std::initializer_list<std::string_view> path) {
  std::map<std::string, std::string> texts;
  const json::value* found = kube::FindField(object, path);
  if (found != nullptr && found->is_object()) {
    for (const auto& [key, value] : found->get_object()) {
      if (value.is_string()) {
        texts.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  return texts;
}

const json::array* ListOf(const json::value& object, std::initializer_list<std::string_view> path) {
  const json::value* list = kube::FindField(object, path);
  return list == nullptr ? nullptr : list->if_array();
}

bool RequestsGpus(const json::value& pod) {
  for (const char* kind : {"containers", "initContainers"}) {
    const json::array* list = ListOf(pod, {"spec", kind});
    if (list == nullptr) {
      continue;
    }
    for (const json::value& container : *list) {
      for (const auto& [name, count] : TextsAt(container, {"resources", "limits"})) {
        if (name.starts_with(kGpuPrefix) && count != "0") {
          return true;
        }
      }
    }
  }
  return false;
}

class Reader {
 public:
  Reader(const Ask& ask, std::string_view space) : ask_(ask), space_(space) {}

  StatusOr<World> Run() {
    RETURN_IF_ERROR(ReadWorkloads());
    RETURN_IF_ERROR(ReadNodes());
    RETURN_IF_ERROR(ReadPods());
    ReadPolicies();
    ReadMaps();
    ReadState();
    return std::move(world_);
  }

 private:
  Status ReadWorkloads() {
    ASSIGN_OR_RETURN(const std::vector<json::value> sets, ListAll(ask_, kDaemonSets.Collection()));
    for (const json::value& set : sets) {
      if (kube::NamespaceOf(set) == space_ && kube::NameOf(set) == kAgentName) {
        world_.has_agent = true;
      }
      if (auto workload = ReadWorkload(set, "DaemonSet")) {
        TakeSettings(set, *workload);
        world_.workloads.push_back(*std::move(workload));
      }
    }
    const auto deployments = ListAll(ask_, kDeployments.Collection());
    if (!deployments.ok()) {
      NotRead("Deployments", deployments.status());
      return OkStatus();
    }
    for (const json::value& deployment : *deployments) {
      if (auto workload = ReadWorkload(deployment, "Deployment")) {
        world_.workloads.push_back(*std::move(workload));
      }
    }
    return OkStatus();
  }

  void TakeSettings(const json::value& set, const Workload& workload) {
    if (workload.component == Component::kPlugin) {
      world_.foreign.plugins.push_back(ReadPluginSettings(set));
    } else if (workload.component == Component::kExporter) {
      world_.foreign.exporters.push_back(ReadExporterSettings(set, workload.version));
    }
  }

  Status ReadNodes() {
    ASSIGN_OR_RETURN(const std::vector<json::value> nodes,
                     ListAll(ask_, kube::kNodes.Collection()));
    for (const json::value& node : nodes) {
      world_.nodes.push_back(ReadNode(node));
    }
    std::ranges::sort(world_.nodes, {}, &SeenNode::name);
    return OkStatus();
  }

  Status ReadPods() {
    std::set<std::pair<std::string, std::string>> sets;
    for (const Workload& workload : world_.workloads) {
      sets.emplace(workload.space, workload.name);
    }
    ASSIGN_OR_RETURN(const std::vector<json::value> pods,
                     ListAll(ask_, kube::kPods.Collection(), "spec.nodeName!="));
    for (const json::value& item : pods) {
      SeenPod pod = ReadPod(item);
      if (pod.has_gpus || sets.contains({pod.space, pod.daemon_set})) {
        world_.pods.push_back(std::move(pod));
      }
    }
    return OkStatus();
  }

  void ReadPolicies() {
    const auto policies = ListAll(ask_, kPolicies.Collection());
    if (policies.status().code() == StatusCode::kNotFound) {
      return;  // the cluster does not know the kind
    }
    if (!policies.ok()) {
      return NotRead("ClusterPolicies", policies.status());
    }
    for (const json::value& policy : *policies) {
      // There is one; the operator ignores others.
      if (!world_.foreign.policy) {
        world_.foreign.policy = ReadPolicy(policy);
      }
    }
  }

  void ReadMaps() {
    for (const MapKey& key : MapsOf(world_.foreign)) {
      const auto map = ask_({.path = kConfigMaps.Object(key.space, key.name)});
      if (map.ok()) {
        world_.foreign.maps[key] = TextsAt(*map, {"data"});
      } else {
        NotRead(fmt::format("ConfigMap {}/{}", key.space, key.name), map.status());
      }
    }
  }

  void ReadState() {
    const auto state = ask_({.path = kConfigMaps.Object(space_, kStateName)});
    world_.is_agent_ours = state.ok() && kube::TextField(*state, {"data", kInstalledKey}) == "true";
  }

  void NotRead(std::string_view what, const Status& status) {
    world_.unreadable.push_back(fmt::format("{}: {}", what, Message(status)));
  }

  const Ask& ask_;
  std::string space_;
  World world_;
};

}  // namespace

SeenNode ReadNode(const json::value& node) {
  SeenNode seen;
  seen.name = std::string(kube::NameOf(node));
  seen.version = std::string(kube::VersionOf(node));
  seen.labels = TextsAt(node, {"metadata", "labels"});
  seen.annotations = TextsAt(node, {"metadata", "annotations"});
  for (const auto& [name, count] : TextsAt(node, {"status", "allocatable"})) {
    const auto number = ParseUint(count);
    if (name.starts_with(kGpuPrefix) && number && *number <= INT64_MAX) {
      seen.gpus.emplace(name, static_cast<int64_t>(*number));
    }
  }
  const auto condition = kube::FindCondition(node, kReady);
  seen.is_ready = condition && condition->status == "True";
  if (condition && !seen.is_ready) {
    seen.problem = fmt::format("{}: {}", condition->reason, condition->message);
  }
  return seen;
}

SeenPod ReadPod(const json::value& pod) {
  SeenPod seen;
  seen.space = std::string(kube::NamespaceOf(pod));
  seen.name = std::string(kube::NameOf(pod));
  seen.uid = std::string(kube::TextField(pod, {"metadata", "uid"}));
  seen.node = std::string(kube::TextField(pod, {"spec", "nodeName"}));
  if (const json::array* owners = ListOf(pod, {"metadata", "ownerReferences"})) {
    for (const json::value& owner : *owners) {
      if (kube::TextField(owner, {"kind"}) == "DaemonSet") {
        seen.daemon_set = std::string(kube::TextField(owner, {"name"}));
      }
    }
  }
  const bool is_stopping = kube::FindField(pod, {"metadata", "deletionTimestamp"}) != nullptr;
  seen.is_running = kube::TextField(pod, {"status", "phase"}) == "Running";
  const auto ready = kube::FindCondition(pod, "Ready");
  seen.is_ready = seen.is_running && !is_stopping && ready && ready->status == "True";
  seen.has_gpus = RequestsGpus(pod);
  if (const json::array* states = ListOf(pod, {"status", "containerStatuses"})) {
    for (const json::value& state : *states) {
      const std::string_view id = kube::TextField(state, {"containerID"});
      if (!id.empty()) {
        seen.ids.push_back(fmt::format("{}={}", kube::TextField(state, {"name"}), id));
      }
    }
  }
  std::ranges::sort(seen.ids);
  return seen;
}

bool IsGpuNode(const SeenNode& node) {
  static constexpr std::array<std::string_view, 4> kMarks = {
      "nvidia.com/gpu.present", "feature.node.kubernetes.io/pci-10de.present",
      "feature.node.kubernetes.io/pci-0302_10de.present",
      "feature.node.kubernetes.io/pci-0300_10de.present"};
  return !node.gpus.empty() || std::ranges::any_of(kMarks, [&node](std::string_view key) {
    const auto found = node.labels.find(std::string(key));
    return found != node.labels.end() && found->second == "true";
  });
}

StatusOr<World> ReadWorld(const Ask& ask, std::string_view space) {
  return Reader(ask, space).Run();
}

StatusOr<std::vector<SeenPod>> ReadPodsOf(const Ask& ask, const std::string& node) {
  ASSIGN_OR_RETURN(const std::vector<json::value> items,
                   ListAll(ask, kube::kPods.Collection(), fmt::format("spec.nodeName={}", node)));
  std::vector<SeenPod> pods;
  pods.reserve(items.size());
  for (const json::value& item : items) {
    pods.push_back(ReadPod(item));
  }
  return pods;
}

StatusOr<std::vector<json::value>> ListAll(const Ask& ask, const std::string& path,
                                           const std::string& field_selector) {
  std::vector<json::value> objects;
  std::string next;
  do {
    kube::ApiRequest request{.path = path, .query = {{"limit", std::string(kChunk)}}};
    if (!field_selector.empty()) {
      request.query.emplace_back("fieldSelector", field_selector);
    }
    if (!next.empty()) {
      request.query.emplace_back("continue", next);
    }
    ASSIGN_OR_RETURN(json::value answer, ask(std::move(request)));
    json::value* items = answer.is_object() ? answer.get_object().if_contains("items") : nullptr;
    if (items != nullptr && items->is_array()) {
      for (json::value& item : items->get_array()) {
        objects.push_back(std::move(item));
      }
    }
    next = std::string(kube::TextField(answer, {"metadata", "continue"}));
  } while (!next.empty() && objects.size() < kMostObjects);
  return objects;
}

}  // namespace kgpu::adopt
