#include "src/node/object/owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::node {
namespace {

namespace json = boost::json;

constexpr std::array<Owner, 4> kAllOwners = {Owner::kNfd, Owner::kGfd, Owner::kPlugin,
                                             Owner::kOperator};
constexpr std::string_view kNfdAnnotations = "nfd.node.kubernetes.io/";
constexpr std::string_view kNfdLabels = "feature.node.kubernetes.io/";
constexpr std::string_view kGpuLabels = "nvidia.com/";
constexpr std::string_view kOperatorLabels = "nvidia.com/gpu.deploy.";
constexpr std::string_view kGfdTimestamp = "nvidia.com/gfd.timestamp";
// Enough to tell a person; a node may carry hundreds.
constexpr size_t kMaxMarks = 4;

std::vector<std::string> TextsOf(const json::value& pod, std::string_view key) {
  std::vector<std::string> texts;
  const json::value* containers = kube::FindField(pod, {"spec", "containers"});
  if (containers != nullptr && containers->is_array()) {
    for (const json::value& container : containers->get_array()) {
      texts.emplace_back(kube::TextField(container, {key}));
    }
  }
  return texts;
}

std::string_view LabelOf(const SeenPod& pod, const std::string& key) {
  const auto found = pod.labels.find(key);
  return found == pod.labels.end() ? std::string_view() : std::string_view(found->second);
}

bool HasAppLabel(const SeenPod& pod, std::initializer_list<std::string_view> values) {
  for (const char* key : {"app", "app.kubernetes.io/name", "name", "k8s-app"}) {
    if (std::ranges::find(values, LabelOf(pod, key)) != values.end()) {
      return true;
    }
  }
  return false;
}

bool AnyContains(const std::vector<std::string>& texts, std::string_view part) {
  return std::ranges::any_of(
      texts, [part](const std::string& text) { return text.find(part) != std::string::npos; });
}

bool IsNfdWorker(const SeenPod& pod) {
  const bool is_nfd = AnyContains(pod.images, "node-feature-discovery") ||
                      HasAppLabel(pod, {"node-feature-discovery", "nfd-worker"});
  return is_nfd && (LabelOf(pod, "role") == "worker" || AnyContains(pod.containers, "worker") ||
                    HasAppLabel(pod, {"nfd-worker"}));
}

bool IsGfd(const SeenPod& pod) {
  return HasAppLabel(pod, {"gpu-feature-discovery"}) ||
         AnyContains(pod.images, "gpu-feature-discovery") ||
         AnyContains(pod.containers, "gpu-feature-discovery");
}

bool IsPlugin(const SeenPod& pod) {
  return HasAppLabel(pod, {"nvidia-device-plugin", "nvidia-device-plugin-ds",
                           "nvidia-device-plugin-daemonset", "nvidia-gpu-device-plugin"}) ||
         AnyContains(pod.containers, "nvidia-device-plugin") ||
         AnyContains(pod.containers, "nvidia-gpu-device-plugin");
}

bool IsOperators(const SeenPod& pod) {
  return LabelOf(pod, "app.kubernetes.io/managed-by") == "gpu-operator" ||
         HasAppLabel(pod, {"gpu-operator", "nvidia-operator-validator"});
}

// What the Node object itself shows of `owner`, apart from our keys.
std::vector<std::string> MarksOnNode(const SeenNode& node, Owner owner) {
  std::vector<std::string> marks;
  const auto add = [&marks](std::string_view kind, const std::string& key, std::string_view by) {
    if (marks.size() < kMaxMarks) {
      marks.push_back(by.empty() ? fmt::format("{} {}", kind, key)
                                 : fmt::format("{} {} set by {}", kind, key, by));
    }
  };
  if (owner == Owner::kNfd) {
    for (const auto& [key, value] : node.annotations.values) {
      if (key.starts_with(kNfdAnnotations) && !node.annotations.ours.contains(key)) {
        add("annotation", key, "");
      }
    }
    for (const auto& [key, managers] : node.labels.others) {
      if (key.starts_with(kNfdLabels) && managers.contains("nfd-master")) {
        add("label", key, "nfd-master");
      }
    }
  }
  const std::string stamp(kGfdTimestamp);
  if (owner == Owner::kGfd && node.labels.values.contains(stamp) &&
      !node.labels.ours.contains(stamp)) {
    add("label", stamp, "");
  }
  if (owner == Owner::kGfd) {
    for (const auto& [key, managers] : node.labels.others) {
      if (key.starts_with(kGpuLabels) && managers.contains("gpu-feature-discovery")) {
        add("label", key, "gpu-feature-discovery");
      }
    }
  }
  if (owner == Owner::kOperator) {
    for (const auto& [key, value] : node.labels.values) {
      if (key.starts_with(kOperatorLabels) && !node.labels.ours.contains(key)) {
        add("label", key, "");
      }
    }
  }
  return marks;
}

std::vector<std::string> MarksOf(const Evidence& evidence, Owner owner) {
  std::vector<std::string> marks;
  if (owner == Owner::kPlugin) {
    for (const std::string& socket : evidence.sockets) {
      if (socket.starts_with("nvidia")) {
        marks.push_back(fmt::format("socket {} in the kubelet's device-plugins/", socket));
      }
    }
  }
  if (owner == Owner::kGfd && evidence.has_gfd_file) {
    marks.emplace_back("file gfd in NFD's features.d/");
  }
  if (evidence.node != nullptr) {
    std::ranges::move(MarksOnNode(*evidence.node, owner), std::back_inserter(marks));
  }
  return marks;
}

const SeenPod* PodOf(const Evidence& evidence, Owner owner) {
  if (!evidence.pods) {
    return nullptr;
  }
  const auto found = std::ranges::find_if(
      *evidence.pods, [owner](const SeenPod& pod) { return OwnerOfPod(pod) == owner; });
  return found == evidence.pods->end() ? nullptr : &*found;
}

bool HoldsDomain(const SeenNode& node, Owner owner) {
  return std::ranges::any_of(node.labels.ours,
                             [owner](const std::string& key) { return DomainOf(key) == owner; });
}

bool IsOfOperator(const SeenPod* pod, const Evidence& evidence) {
  if (pod != nullptr) {
    return IsOperators(*pod) || pod->name_space == "gpu-operator";
  }
  return evidence.node != nullptr && !MarksOnNode(*evidence.node, Owner::kOperator).empty();
}

// One value of the GPU operator's chart that switches `owner` off.
std::string_view ChartSwitch(Owner owner) {
  static constexpr std::array<std::string_view, 4> kWords = {
      "nfd.enabled", "gfd.enabled", "devicePlugin.enabled", "operator.enabled"};
  return kWords.at(static_cast<size_t>(owner));
}

std::string_view DefaultRemoval(Owner owner) {
  static constexpr std::array<std::string_view, 4> kWords = {
      "helm -n node-feature-discovery uninstall nfd", "helm -n gpu-feature-discovery uninstall gfd",
      "helm -n nvidia-device-plugin uninstall nvdp", "helm -n gpu-operator uninstall gpu-operator"};
  return kWords.at(static_cast<size_t>(owner));
}

std::string RemovalOf(const Evidence& evidence, Owner owner, const SeenPod* pod) {
  if (owner == Owner::kOperator) {
    const std::string ns = pod == nullptr ? "gpu-operator" : pod->name_space;
    return fmt::format("helm -n {} uninstall gpu-operator", ns);
  }
  if (IsOfOperator(pod, evidence)) {
    const std::string ns = pod == nullptr ? "gpu-operator" : pod->name_space;
    return fmt::format(
        "helm -n {} upgrade gpu-operator nvidia/gpu-operator --reuse-values --set {}=false", ns,
        ChartSwitch(owner));
  }
  if (pod == nullptr) {
    return std::string(DefaultRemoval(owner));
  }
  const std::string_view release = LabelOf(*pod, "app.kubernetes.io/instance");
  if (!release.empty()) {
    return fmt::format("helm -n {} uninstall {}", pod->name_space, release);
  }
  if (!pod->daemon_set.empty()) {
    return fmt::format("kubectl -n {} delete daemonset {}", pod->name_space, pod->daemon_set);
  }
  return fmt::format("kubectl -n {} delete pod {}", pod->name_space, pod->name);
}

}  // namespace

std::string_view ToString(Owner owner) {
  static constexpr std::array<std::string_view, 4> kNames = {"nfd", "gfd", "plugin", "operator"};
  return kNames.at(static_cast<size_t>(owner));
}

std::string_view TitleOf(Owner owner) {
  static constexpr std::array<std::string_view, 4> kTitles = {
      "Node Feature Discovery", "GPU Feature Discovery", "NVIDIA's device plugin",
      "the GPU operator"};
  return kTitles.at(static_cast<size_t>(owner));
}

StatusOr<Owner> ParseOwner(std::string_view text) {
  for (const Owner owner : {Owner::kNfd, Owner::kGfd, Owner::kPlugin}) {
    if (text == ToString(owner)) {
      return owner;
    }
  }
  return InvalidArgument("\"{}\" must be nfd, gfd, plugin or all", Printable(text, 40));
}

std::set<Owner> OwnersIn(const SeenNode& node, std::string_view annotation) {
  std::set<Owner> owners;
  const auto found = node.annotations.values.find(std::string(annotation));
  if (found != node.annotations.values.end()) {
    for (const std::string_view word : Split(found->second, ',')) {
      // A newer kgpu may have written other words there: they are ignored.
      if (const auto owner = ParseOwner(Trim(word)); owner.ok()) {
        owners.insert(*owner);
      }
    }
  }
  return owners;
}

std::string OwnersText(const std::set<Owner>& owners) {
  std::vector<std::string> words;
  for (const Owner owner : owners) {
    words.emplace_back(ToString(owner));
  }
  return Join(words, ",");
}

SeenPod ReadPod(const json::value& pod) {
  SeenPod seen;
  seen.name_space = std::string(kube::NamespaceOf(pod));
  seen.name = std::string(kube::NameOf(pod));
  const json::value* labels = kube::FindField(pod, {"metadata", "labels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      if (value.is_string()) {
        seen.labels.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  seen.images = TextsOf(pod, "image");
  seen.containers = TextsOf(pod, "name");
  const json::value* makers = kube::FindField(pod, {"metadata", "ownerReferences"});
  if (makers != nullptr && makers->is_array()) {
    for (const json::value& maker : makers->get_array()) {
      if (kube::TextField(maker, {"kind"}) == "DaemonSet") {
        seen.daemon_set = std::string(kube::TextField(maker, {"name"}));
      }
    }
  }
  return seen;
}

std::optional<Owner> OwnerOfPod(const SeenPod& pod) {
  if (IsNfdWorker(pod)) {
    return Owner::kNfd;
  }
  if (IsGfd(pod)) {
    return Owner::kGfd;
  }
  if (IsPlugin(pod)) {
    return Owner::kPlugin;
  }
  return IsOperators(pod) ? std::optional(Owner::kOperator) : std::nullopt;
}

const OwnerFound* Owners::Find(Owner owner) const {
  const auto there = std::ranges::find(found, owner, &OwnerFound::owner);
  return there == found.end() ? nullptr : &*there;
}

bool Owners::StandsBackFor(Owner owner) const {
  if (released.contains(owner) || adopted.contains(owner)) {
    return released.contains(owner);
  }
  const OwnerFound* there = Find(owner);
  return there != nullptr && there->is_running && !there->came_later;
}

Owners FindOwners(const Evidence& evidence) {
  Owners owners;
  if (evidence.node != nullptr) {
    owners.adopted = OwnersIn(*evidence.node, kAdoptedAnnotation);
    owners.released = OwnersIn(*evidence.node, kReleasedAnnotation);
  }
  for (const Owner owner : kAllOwners) {
    const SeenPod* pod = PodOf(evidence, owner);
    std::vector<std::string> marks = MarksOf(evidence, owner);
    if (pod == nullptr && marks.empty()) {
      continue;
    }
    OwnerFound found;
    found.owner = owner;
    // A socket is a live server's. Other marks stay when their maker goes: where the pods are
    // known, no pod means that it went. GFD's file is published for as long as NFD's worker runs.
    found.is_running =
        pod != nullptr || !evidence.pods || owner == Owner::kPlugin ||
        (owner == Owner::kGfd && evidence.has_gfd_file && PodOf(evidence, Owner::kNfd) != nullptr);
    found.came_later = evidence.node != nullptr && HoldsDomain(*evidence.node, owner);
    if (pod != nullptr) {
      found.marks.push_back(fmt::format("pod {}/{}", pod->name_space, pod->name));
    }
    std::ranges::move(marks, std::back_inserter(found.marks));
    found.removal = RemovalOf(evidence, owner, pod);
    owners.found.push_back(std::move(found));
  }
  return owners;
}

bool HasMarks(const Evidence& evidence) {
  return std::ranges::any_of(kAllOwners,
                             [&](Owner owner) { return !MarksOf(evidence, owner).empty(); });
}

std::optional<Owner> DomainOf(std::string_view key) {
  if (key.starts_with(kNfdLabels)) {
    return Owner::kNfd;
  }
  return key.starts_with(kGpuLabels) ? std::optional(Owner::kGfd) : std::nullopt;
}

}  // namespace kgpu::node
