#include "src/cluster/fleet/node_facts.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>

#include "src/cluster/policy/gpu_policy.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::fleet {
namespace {

namespace json = boost::json;
using kube::FindField;
using kube::TextField;
using policy::IsGpuResource;

constexpr std::array<std::string_view, 3> kConditions = {"Ready", "GPUReady", "GPUHealthy"};
constexpr std::array<std::string_view, 4> kAnnotations = {kUpgradeAnnotation, kRetryAnnotation,
                                                          kQuarantineAnnotation, kLabelsAnnotation};
// Longer texts of others are cut: they are only shown.
constexpr size_t kMaxMessage = 300;

std::string_view View(json::string_view text) {
  return {text.data(), text.size()};
}

const json::array& ListAt(const json::value& from, std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const json::value* list = FindField(from, path);
  return list != nullptr && list->is_array() ? list->get_array() : kNone;
}

const json::object& MapAt(const json::value& from, std::initializer_list<std::string_view> path) {
  static const json::object kNone;
  const json::value* map = FindField(from, path);
  return map != nullptr && map->is_object() ? map->get_object() : kNone;
}

// Whole numbers are all that extended resources have; others count as none.
uint64_t Count(const json::value& quantity) {
  if (const json::string* text = quantity.if_string(); text != nullptr) {
    return ParseUint(View(*text)).value_or(0);
  }
  return quantity.is_int64() && quantity.get_int64() > 0
             ? static_cast<uint64_t>(quantity.get_int64())
             : 0;
}

// The parts of metadata that every object keeps.
json::object KeyMetadata(const json::value& object) {
  json::object kept;
  for (const char* name : {"name", "namespace", "uid", "resourceVersion", "deletionTimestamp"}) {
    if (const std::string_view text = TextField(object, {"metadata", name}); !text.empty()) {
      kept[name] = text;
    }
  }
  return kept;
}

json::object Kept(const json::object& map, const auto& is_kept) {
  json::object kept;
  for (const auto& [key, value] : map) {
    if (is_kept(View(key))) {
      kept[key] = value;
    }
  }
  return kept;
}

json::array KeptConditions(const json::value& node) {
  json::array kept;
  for (const json::value& condition : ListAt(node, {"status", "conditions"})) {
    const std::string_view type = TextField(condition, {"type"});
    if (std::ranges::find(kConditions, type) != kConditions.end()) {
      kept.push_back({{"type", type},
                      {"status", TextField(condition, {"status"})},
                      {"reason", TextField(condition, {"reason"})},
                      {"message", type == "Ready"
                                      ? std::string_view()
                                      : TextField(condition, {"message"}).substr(0, kMaxMessage)}});
    }
  }
  return kept;
}

SeenStatus StatusOf(const json::value& node, std::string_view type) {
  for (const json::value& condition : ListAt(node, {"status", "conditions"})) {
    if (TextField(condition, {"type"}) == type) {
      return {.status = std::string(TextField(condition, {"status"})),
              .reason = std::string(TextField(condition, {"reason"})),
              .message = std::string(TextField(condition, {"message"}))};
    }
  }
  return {};
}

// nvidia.com/gpu, or the first GPU resource that the node has.
void ReadResource(const json::value& node, NodeFacts& facts) {
  for (const auto& [key, value] : MapAt(node, {"status", "allocatable"})) {
    const uint64_t count = Count(value);
    if (IsGpuResource(View(key)) && count > 0 &&
        (facts.resource.empty() || View(key) == "nvidia.com/gpu")) {
      facts.resource = View(key);
      facts.gpus = count;
    }
  }
}

using Amounts = std::map<std::string, uint64_t, std::less<>>;

Amounts LimitsOf(const json::value& container) {
  Amounts amounts;
  for (const auto& [key, value] : MapAt(container, {"resources", "limits"})) {
    if (const uint64_t count = Count(value); IsGpuResource(View(key)) && count > 0) {
      amounts[std::string(View(key))] = count;
    }
  }
  return amounts;
}

void Add(const Amounts& amounts, Amounts& sum) {
  for (const auto& [resource, count] : amounts) {
    sum[resource] += count;
  }
}

// As the scheduler counts: https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers
// (resource sharing within containers). Init containers run one after another, before the others;
// those that are restarted always stay.
Amounts GpusOf(const json::value& pod) {
  Amounts staying;
  Amounts most;
  for (const json::value& container : ListAt(pod, {"spec", "initContainers"})) {
    Amounts now = LimitsOf(container);
    if (TextField(container, {"restartPolicy"}) == "Always") {
      Add(now, staying);
      continue;
    }
    Add(staying, now);
    for (const auto& [resource, count] : now) {
      most[resource] = std::max(most[resource], count);
    }
  }
  for (const json::value& container : ListAt(pod, {"spec", "containers"})) {
    Add(LimitsOf(container), staying);
  }
  for (const auto& [resource, count] : staying) {
    most[resource] = std::max(most[resource], count);
  }
  return most;
}

int64_t ClaimsOf(const json::value& pod) {
  return static_cast<int64_t>(ListAt(pod, {"spec", "resourceClaims"}).size());
}

std::string_view RoleOf(const json::value& pod) {
  const std::string_view role = TextField(pod, {"metadata", "labels", kRoleLabel});
  if (!role.empty()) {
    return role;
  }
  return TextField(pod, {"metadata", "labels", kNameLabel}) == kDriverName ? "driver" : "";
}

std::string_view OwnerOf(const json::value& pod) {
  const json::array& owners = ListAt(pod, {"metadata", "ownerReferences"});
  return owners.empty() ? "" : TextField(owners.front(), {"kind"});
}

int64_t ExitCodeOf(const json::value& pod) {
  for (const json::value& status : ListAt(pod, {"status", "containerStatuses"})) {
    if (const auto code = kube::IntField(status, {"state", "terminated", "exitCode"}); code) {
      return *code;
    }
  }
  return 0;
}

// None of its containers has ended, since none was started.
std::string_view RejectionOf(const json::value& pod) {
  const bool has_ended = std::ranges::any_of(
      ListAt(pod, {"status", "containerStatuses"}), [](const json::value& status) {
        return FindField(status, {"state", "terminated"}) != nullptr;
      });
  return has_ended || TextField(pod, {"status", "phase"}) != "Failed"
             ? ""
             : TextField(pod, {"status", "reason"});
}

bool IsReadyPod(const json::value& pod) {
  return std::ranges::any_of(ListAt(pod, {"status", "conditions"}), [](const json::value& one) {
    return TextField(one, {"type"}) == "Ready" && TextField(one, {"status"}) == "True";
  });
}

}  // namespace

void TrimNode(json::value& node, const KeySet& keys) {
  json::object metadata = KeyMetadata(node);
  metadata["labels"] = Kept(MapAt(node, {"metadata", "labels"}), [&](std::string_view key) {
    return key == kDriverLabel || key == kPresentLabel || keys.contains(key);
  });
  metadata["annotations"] =
      Kept(MapAt(node, {"metadata", "annotations"}), [](std::string_view key) {
        return std::ranges::find(kAnnotations, key) != kAnnotations.end();
      });
  json::object spec;
  if (const json::value* flag = FindField(node, {"spec", "unschedulable"}); flag != nullptr) {
    spec["unschedulable"] = *flag;
  }
  if (const json::array& taints = ListAt(node, {"spec", "taints"}); !taints.empty()) {
    spec["taints"] = taints;
  }
  json::object status = {
      {"conditions", KeptConditions(node)},
      {"allocatable", Kept(MapAt(node, {"status", "allocatable"}),
                           [](std::string_view key) { return IsGpuResource(key); })}};
  node = json::object{
      {"metadata", std::move(metadata)}, {"spec", std::move(spec)}, {"status", std::move(status)}};
}

NodeFacts ReadNode(const json::value& node) {
  NodeFacts facts;
  facts.name = kube::NameOf(node);
  facts.uid = TextField(node, {"metadata", "uid"});
  facts.version = kube::VersionOf(node);
  for (const auto& [key, value] : MapAt(node, {"metadata", "labels"})) {
    if (value.is_string()) {
      facts.labels[std::string(View(key))] = View(value.get_string());
    }
  }
  const json::array& taints = ListAt(node, {"spec", "taints"});
  facts.taints = json::serialize(taints);
  facts.is_tainted = std::ranges::any_of(taints, [](const json::value& taint) {
    return TextField(taint, {"key"}) == kQuarantineTaint;
  });
  const json::value* flag = FindField(node, {"spec", "unschedulable"});
  facts.is_unschedulable = flag != nullptr && flag->is_bool() && flag->get_bool();
  facts.is_ready = StatusOf(node, "Ready").status == "True";
  facts.gpu_ready = StatusOf(node, "GPUReady");
  facts.gpu_healthy = StatusOf(node, "GPUHealthy");
  facts.driver = TextField(node, {"metadata", "labels", kDriverLabel});
  ReadResource(node, facts);
  facts.has_gpus = TextField(node, {"metadata", "labels", kPresentLabel}) == "true" ||
                   !facts.gpu_ready.status.empty();
  facts.upgrade = TextField(node, {"metadata", "annotations", kUpgradeAnnotation});
  facts.quarantine = TextField(node, {"metadata", "annotations", kQuarantineAnnotation});
  facts.label_keys = TextField(node, {"metadata", "annotations", kLabelsAnnotation});
  facts.is_retry_asked = FindField(node, {"metadata", "annotations", kRetryAnnotation}) != nullptr;
  return facts;
}

bool IsUnavailable(const NodeFacts& node) {
  return !node.is_ready || node.is_unschedulable || node.is_tainted || !node.upgrade.empty() ||
         (!node.gpu_ready.status.empty() && node.gpu_ready.status != "True");
}

std::string PodFacts::WhyFailed() const {
  return rejection.empty() ? fmt::format("pod {} ended with code {}: read its log", name, exit_code)
                           : fmt::format("the kubelet rejected pod {}: {}: {}", name, rejection,
                                         rejection_message);
}

uint64_t FreeGpus(const NodeFacts& node, std::span<const PodFacts> pods) {
  uint64_t used = 0;
  for (const PodFacts& pod : pods) {
    used += pod.IsOwn() ? 0 : pod.GpusOf(node.resource);
  }
  return node.gpus - std::min(used, node.gpus);
}

const PodFacts* OwnHolder(const NodeFacts& node, std::span<const PodFacts> pods) {
  const auto found = std::ranges::find_if(
      pods, [&](const PodFacts& pod) { return pod.IsOwn() && pod.GpusOf(node.resource) > 0; });
  return found == pods.end() ? nullptr : &*found;
}

bool IsRelevantPod(const json::value& pod) {
  return !RoleOf(pod).empty() || ClaimsOf(pod) > 0 || !GpusOf(pod).empty();
}

void TrimPod(json::value& pod) {
  json::object kept = {{"metadata", KeyMetadata(pod)},
                       {"node", TextField(pod, {"spec", "nodeName"})},
                       {"phase", TextField(pod, {"status", "phase"})}};
  for (const auto& [resource, count] : GpusOf(pod)) {
    json::value& gpus = kept["gpus"];
    (gpus.is_object() ? gpus.get_object() : gpus.emplace_object())[resource] = count;
  }
  if (const int64_t claims = ClaimsOf(pod); claims > 0) {
    kept["claims"] = claims;
  }
  const auto set = [&](const char* name, std::string_view text) {
    if (!text.empty()) {
      kept[name] = text;
    }
  };
  set("role", RoleOf(pod));
  set("owner", OwnerOf(pod));
  const std::string_view policy = TextField(pod, {"spec", "restartPolicy"});
  if (!policy.empty() && policy != "Always") {
    kept["ends"] = true;
  }
  if (FindField(pod, {"metadata", "annotations", "kubernetes.io/config.mirror"}) != nullptr) {
    kept["mirror"] = true;
  }
  if (IsReadyPod(pod)) {
    kept["ready"] = true;
  }
  if (const int64_t code = ExitCodeOf(pod); code != 0) {
    kept["exit"] = code;
  }
  if (const std::string_view rejection = RejectionOf(pod); !rejection.empty()) {
    kept["rejection"] = rejection;
    set("rejected", TextField(pod, {"status", "message"}).substr(0, kMaxMessage));
  }
  pod = std::move(kept);
}

PodFacts ReadPod(const json::value& pod) {
  PodFacts facts;
  facts.space = kube::NamespaceOf(pod);
  facts.name = kube::NameOf(pod);
  facts.uid = TextField(pod, {"metadata", "uid"});
  facts.node = TextField(pod, {"node"});
  facts.phase = TextField(pod, {"phase"});
  facts.role = TextField(pod, {"role"});
  const std::string_view owner = TextField(pod, {"owner"});
  facts.owner = owner.empty()          ? PodOwner::kNobody
                : owner == "Job"       ? PodOwner::kJob
                : owner == "DaemonSet" ? PodOwner::kDaemonSet
                                       : PodOwner::kOther;
  for (const auto& [resource, count] : MapAt(pod, {"gpus"})) {
    facts.gpus[std::string(View(resource))] = count.to_number<uint64_t>();
  }
  facts.claims = static_cast<uint64_t>(kube::IntField(pod, {"claims"}).value_or(0));
  facts.rejection = TextField(pod, {"rejection"});
  facts.rejection_message = TextField(pod, {"rejected"});
  facts.is_ready = FindField(pod, {"ready"}) != nullptr;
  facts.ends_by_itself = FindField(pod, {"ends"}) != nullptr;
  facts.is_mirror = FindField(pod, {"mirror"}) != nullptr;
  facts.is_terminating = !TextField(pod, {"metadata", "deletionTimestamp"}).empty();
  facts.exit_code = static_cast<int>(kube::IntField(pod, {"exit"}).value_or(0));
  return facts;
}

}  // namespace kgpu::fleet
