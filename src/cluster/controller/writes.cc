#include "src/cluster/controller/writes.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/strings.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using fleet::NodeFacts;
using fleet::PodFacts;
using kube::WriteOptions;

WriteOptions Options() {
  return {.field_manager = std::string(fleet::kManager)};
}

// A merge patch that counts only for the version that was seen.
Work PatchNode(const NodeFacts& node, std::string what, json::object annotations,
               json::object spec) {
  const json::value patch = {
      {"metadata", {{"resourceVersion", node.version}, {"annotations", std::move(annotations)}}},
      {"spec", std::move(spec)}};
  return {.key = fmt::format("node/{}", node.name),
          .what = std::move(what),
          .request = kube::PatchRequest(kube::kNodes.Object("", node.name), kube::PatchType::kMerge,
                                        patch, Options()),
          .answer = AnswerKind::kNode};
}

// The node's taints with or without ours; those of others as they are.
json::array Taints(const NodeFacts& node, const std::optional<fleet::FenceRecord>& record) {
  json::error_code error;
  const json::value before = json::parse(node.taints, error);
  json::array taints;
  if (!error && before.is_array()) {
    for (const json::value& taint : before.get_array()) {
      if (kube::TextField(taint, {"key"}) != fleet::kQuarantineTaint) {
        taints.push_back(taint);
      }
    }
  }
  if (record) {
    taints.push_back({{"key", fleet::kQuarantineTaint}, {"effect", "NoSchedule"}});
  }
  return taints;
}

json::object PodBase(const PodSettings& settings, const NodeFacts& node, std::string_view role,
                     std::string_view name) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", name},
        {"namespace", settings.space},
        {"labels",
         {{fleet::kNameLabel, fmt::format("kgpu-{}", role)},
          {"app.kubernetes.io/part-of", "kgpu"},
          {"app.kubernetes.io/managed-by", fleet::kManager},
          {fleet::kRoleLabel, role}}},
        // Gone with the node.
        {"ownerReferences",
         json::array{
             {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node.name}, {"uid", node.uid}}}}}}};
}

// The parts of a spec that both kinds of pods have. Named by its node: the scheduler would wait
// until the node is schedulable.
json::object SpecBase(const PodSettings& settings, const NodeFacts& node) {
  json::object spec = {{"nodeName", node.name},
                       {"restartPolicy", "Never"},
                       {"automountServiceAccountToken", false},
                       {"tolerations", json::array{{{"operator", "Exists"}}}}};
  // It brings the secrets for the image's registry, and the rights that admission asks for.
  if (!settings.service_account.empty()) {
    spec["serviceAccountName"] = settings.service_account;
  }
  return spec;
}

Work CreatePod(const PodSettings& settings, const NodeFacts& node, json::object pod,
               std::string what) {
  return {.key = fmt::format("pod/{}/{}", settings.space, kube::NameOf(pod)),
          .what = std::move(what),
          .request = kube::CreateRequest(kube::kPods.Collection(settings.space), pod, Options()),
          .may_exist = true,
          .pod_for = node.name};
}

}  // namespace

Work WriteUpgrade(const NodeFacts& node, const fleet::UpgradeRecord& record) {
  return PatchNode(
      node, fmt::format("node {}: upgrade state {}", node.name, fleet::NameOf(record.state)),
      {{fleet::kUpgradeAnnotation, fleet::PrintRecord(record)}, {fleet::kRetryAnnotation, nullptr}},
      {{"unschedulable", true}});
}

Work FinishUpgrade(const NodeFacts& node, bool is_cordoned) {
  json::object spec;
  if (is_cordoned) {
    spec["unschedulable"] = nullptr;
  }
  Work work = PatchNode(node, fmt::format("node {}: end of the upgrade", node.name),
                        {{fleet::kUpgradeAnnotation, nullptr}, {fleet::kRetryAnnotation, nullptr}},
                        std::move(spec));
  work.order = Work::Order::kReturn;
  return work;
}

Work WriteFence(const NodeFacts& node, const std::optional<fleet::FenceRecord>& record) {
  const json::value text = record ? json::value(fleet::PrintRecord(*record)) : json::value();
  return PatchNode(node, fmt::format("node {}: {}", node.name, record ? "quarantine" : "release"),
                   {{fleet::kQuarantineAnnotation, text}}, {{"taints", Taints(node, record)}});
}

Work ApplyLabels(const NodeFacts& node, std::string_view policy, const policy::LabelMap& labels) {
  json::object map;
  std::vector<std::string> keys;
  for (const auto& [key, value] : labels) {
    map[key] = value;
    keys.push_back(key);
  }
  // With the uid, so that a node that is deleted meanwhile is not created.
  json::object metadata = {{"name", node.name}, {"uid", node.uid}};
  if (!keys.empty()) {
    metadata["labels"] = std::move(map);
    metadata["annotations"] = {
        {fleet::kLabelsAnnotation, fmt::format("{}: {}", policy, Join(keys, ","))}};
  }
  const json::value object = {
      {"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", std::move(metadata)}};
  Work work{.key = fmt::format("node/{}", node.name),
            .what = fmt::format("node {}: labels", node.name),
            .order = Work::Order::kLabel,
            .answer = AnswerKind::kNode};
  // Cannot fail: the object has what an apply needs.
  if (auto request =
          kube::ApplyRequest(kube::kNodes.Object("", node.name), object, true, Options());
      request.ok()) {
    work.request = *std::move(request);
  }
  return work;
}

LabelOwner LabelOwnerOf(const NodeFacts& node) {
  const size_t colon = node.label_keys.find(": ");
  if (colon == std::string::npos) {
    return {};
  }
  LabelOwner owner{.policy = node.label_keys.substr(0, colon)};
  for (const std::string_view key :
       Split(std::string_view(node.label_keys).substr(colon + 2), ',')) {
    owner.keys.emplace_back(key);
  }
  return owner;
}

Work RunInstaller(const PodSettings& settings, const NodeFacts& node,
                  const fleet::UpgradeRecord& record, std::string_view name) {
  const bool is_branch = record.to.find('.') == std::string::npos;
  json::object pod = PodBase(settings, node, fleet::kInstallRole, name);
  json::object spec = SpecBase(settings, node);
  // No user of GPUs is left on the node, and it must come back: others give way.
  spec["priorityClassName"] = "system-node-critical";
  // Packages, kernel modules and units of the host: nothing less than the host itself.
  spec["hostPID"] = true;
  spec["hostNetwork"] = true;
  spec["containers"] = json::array{
      {{"name", "install"},
       {"image", settings.image},
       {"imagePullPolicy", "IfNotPresent"},
       {"args",
        json::array{"driver", "install", "--host-root=/host",
                    fmt::format("--{}={}", is_branch ? "branch" : "version", record.to), "--yes"}},
       {"securityContext", {{"privileged", true}, {"runAsUser", 0}}},
       {"volumeMounts",
        json::array{
            {{"name", "host"}, {"mountPath", "/host"}, {"mountPropagation", "HostToContainer"}}}}}};
  spec["volumes"] = json::array{{{"name", "host"}, {"hostPath", {{"path", "/"}}}}};
  pod["spec"] = std::move(spec);
  return CreatePod(settings, node, std::move(pod),
                   fmt::format("node {}: install driver {}", node.name, record.to));
}

Work RunValidation(const PodSettings& settings, const NodeFacts& node, std::string_view name,
                   uint64_t gpus) {
  json::object pod = PodBase(settings, node, fleet::kValidateRole, name);
  json::object spec = SpecBase(settings, node);
  // It must not push out a user's pod to fit: without priority, and asking for nothing but GPUs.
  spec["securityContext"] = {{"runAsNonRoot", true},
                             {"runAsUser", 65534},
                             {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  spec["containers"] =
      json::array{{{"name", "validate"},
                   {"image", settings.image},
                   {"command", json::array{"/usr/local/bin/kgpu", "validate"}},
                   {"imagePullPolicy", "IfNotPresent"},
                   {"securityContext",
                    {{"allowPrivilegeEscalation", false},
                     {"readOnlyRootFilesystem", true},
                     {"capabilities", {{"drop", json::array{"ALL"}}}}}},
                   {"resources",
                    {{"limits", {{node.resource, fmt::format("{}", gpus)}, {"memory", "1Gi"}}},
                     {"requests", {{"memory", "0"}}}}}}};
  pod["spec"] = std::move(spec);
  return CreatePod(settings, node, std::move(pod), fmt::format("node {}: validate", node.name));
}

Work DeletePod(const PodFacts& pod) {
  return {.key = fmt::format("pod/{}/{}", pod.space, pod.name),
          .what = fmt::format("pod {}/{}: delete", pod.space, pod.name),
          .request = kube::DeleteRequest(kube::kPods.Object(pod.space, pod.name), {.uid = pod.uid}),
          .may_exist = true};
}

Work EvictPod(const PodFacts& pod) {
  return {.key = fmt::format("pod/{}/{}", pod.space, pod.name),
          .what = fmt::format("pod {}/{}: evict", pod.space, pod.name),
          .eviction = kube::EvictionTarget{.space = pod.space, .name = pod.name, .uid = pod.uid}};
}

kube::Event NodeEvent(const NodeFacts& node, bool is_warning, std::string_view reason,
                      std::string_view action, std::string_view note) {
  return {.is_warning = is_warning,
          .reason = std::string(reason),
          .action = std::string(action),
          .note = std::string(note),
          .regarding = {.api_version = "v1", .kind = "Node", .name = node.name, .uid = node.uid}};
}

kube::Event PodEvent(const PodFacts& pod, std::string_view reason, std::string_view action,
                     std::string_view note) {
  return {.is_warning = true,
          .reason = std::string(reason),
          .action = std::string(action),
          .note = std::string(note),
          .regarding = {.api_version = "v1",
                        .kind = "Pod",
                        .space = pod.space,
                        .name = pod.name,
                        .uid = pod.uid}};
}

}  // namespace kgpu::controller
