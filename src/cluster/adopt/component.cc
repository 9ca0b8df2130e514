#include "src/cluster/adopt/component.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <initializer_list>

#include "src/kube/api/json.h"

namespace kgpu::adopt {
namespace {

namespace json = boost::json;

constexpr std::array<ComponentFacts, 16> kComponents = {{
    {Component::kPlugin, "device-plugin", "NVIDIA's device plugin", Fate::kReplaced,
     "the agent's device plugin: same resources, same device ids, same way into containers",
     "device-plugin"},
    {Component::kGfd, "gpu-feature-discovery", "GPU feature discovery", Fate::kReplaced,
     "the agent's GPU labels: same keys and values", "gpu-feature-discovery"},
    {Component::kExporter, "dcgm-exporter", "DCGM exporter", Fate::kReplaced,
     "the agent's page of DCGM_FI_* series", "dcgm-exporter"},
    {Component::kNfdWorker, "nfd-worker", "Node Feature Discovery", Fate::kReplaced,
     "the agent's node labels: same keys and values", ""},
    {Component::kNfdMaster, "nfd-master", "Node Feature Discovery's master", Fate::kStays,
     "needed while a worker or a NodeFeatureRule is left; kgpu reads the rules too", ""},
    {Component::kOperator, "gpu-operator", "GPU operator", Fate::kStays,
     "runs what stays; remove it with --finish", ""},
    {Component::kDriver, "driver", "driver container", Fate::kStays,
     "the agent uses its driver; replacing it would restart every GPU pod", "driver"},
    {Component::kToolkit, "container-toolkit", "container toolkit", Fate::kStays,
     "pods with runtime class nvidia, or with NVIDIA's runtime as the default, need it",
     "container-toolkit"},
    {Component::kValidator, "operator-validator", "operator validator", Fate::kStays,
     "idle; the condition GPUReady says more", "operator-validator"},
    {Component::kHostEngine, "dcgm", "DCGM host engine", Fate::kStays,
     "kgpu does not need it; other clients may", "dcgm"},
    {Component::kStatusExporter, "node-status-exporter", "node status exporter", Fate::kStays,
     "alerts may use its series; kgpu has kgpu_ready and the condition GPUReady",
     "node-status-exporter"},
    {Component::kMigManager, "mig-manager", "MIG manager", Fate::kStays,
     "kgpu follows the MIG devices that it makes, live", "mig-manager"},
    {Component::kMps, "mps-control-daemon", "MPS control daemon", Fate::kRefused,
     "programs would lose the daemon that they use", "device-plugin"},
    {Component::kSandbox, "sandbox", "virtual machine workloads", Fate::kRefused,
     "kgpu serves containers only, no vGPU hosts, VFIO or Kata", ""},
    {Component::kDra, "dra-driver", "NVIDIA's DRA driver", Fate::kStays,
     "change over by docs/guides/move-to-claims.md; do not let both serve the GPUs of one node",
     "dra-driver"},
    {Component::kGkePlugin, "gke-device-plugin", "GKE's device plugin", Fate::kRefused,
     "GKE puts it back; make the node pool with gpu-driver-version=disabled and the label "
     "gke-no-default-nvidia-gpu-device-plugin=true",
     ""},
}};

using Names = std::initializer_list<std::string_view>;

// By the first container that is not a helper: the operator runs several components from one image.
struct Sign {
  Component component;
  std::string_view container;  // prefix of a container's name
  std::string_view image;      // part of its image; empty: any
};

constexpr std::array<Sign, 31> kSigns = {{
    {Component::kGkePlugin, "nvidia-gpu-device-plugin", ""},
    {Component::kMps, "mps-control-daemon", ""},
    {Component::kGfd, "gpu-feature-discovery", ""},
    {Component::kPlugin, "nvidia-device-plugin", ""},
    {Component::kExporter, "nvidia-dcgm-exporter", ""},
    {Component::kExporter, "", "dcgm-exporter"},
    {Component::kHostEngine, "nvidia-dcgm-ctr", ""},
    {Component::kDriver, "nvidia-driver-ctr", ""},
    {Component::kToolkit, "nvidia-container-toolkit", ""},
    {Component::kValidator, "nvidia-operator-validator", ""},
    {Component::kStatusExporter, "nvidia-node-status-exporter", ""},
    {Component::kMigManager, "nvidia-mig-manager", ""},
    {Component::kSandbox, "nvidia-sandbox", ""},
    {Component::kSandbox, "nvidia-vgpu", ""},
    {Component::kSandbox, "vgpu-device-manager", ""},
    {Component::kSandbox, "nvidia-vfio", ""},
    {Component::kSandbox, "nvidia-kata", ""},
    {Component::kSandbox, "nvidia-cc-manager", ""},
    {Component::kSandbox, "", "kubevirt-gpu-device-plugin"},
    {Component::kDra, "", "dra-driver"},
    {Component::kNfdWorker, "worker", "node-feature-discovery"},
    {Component::kNfdWorker, "nfd-worker", ""},
    {Component::kNfdMaster, "master", "node-feature-discovery"},
    {Component::kNfdMaster, "nfd-", "node-feature-discovery"},
    {Component::kNfdMaster, "gc", "node-feature-discovery"},
    {Component::kNfdMaster, "topology-updater", "node-feature-discovery"},
    {Component::kOperator, "gpu-operator", ""},
    {Component::kGfd, "", "gpu-feature-discovery"},
    {Component::kToolkit, "", "nvidia/container-toolkit"},
    {Component::kMigManager, "", "k8s-mig-manager"},
    {Component::kPlugin, "", "k8s-device-plugin"},
}};

const json::array* ContainersOf(const json::value& object) {
  const json::value* list = kube::FindField(object, {"spec", "template", "spec", "containers"});
  return list == nullptr ? nullptr : list->if_array();
}

bool Matches(const Sign& sign, const json::value& container) {
  return kube::TextField(container, {"name"}).starts_with(sign.container) &&
         kube::TextField(container, {"image"}).find(sign.image) != std::string_view::npos;
}

struct Recognised {
  Component component;
  std::string image;
};

std::optional<Recognised> Recognise(const json::value& object) {
  const json::array* containers = ContainersOf(object);
  if (containers == nullptr) {
    return std::nullopt;
  }
  for (const Sign& sign : kSigns) {
    for (const json::value& container : *containers) {
      if (Matches(sign, container)) {
        return Recognised{sign.component, std::string(kube::TextField(container, {"image"}))};
      }
    }
  }
  return std::nullopt;
}

std::string Meta(const json::value& object, std::string_view map, Names keys) {
  for (const std::string_view key : keys) {
    if (const std::string_view text = kube::TextField(object, {"metadata", map, key});
        !text.empty()) {
      return std::string(text);
    }
  }
  return {};
}

bool IsOwnedBy(const json::value& object, std::string_view kind, std::string* name) {
  const json::value* owners = kube::FindField(object, {"metadata", "ownerReferences"});
  const json::array* list = owners == nullptr ? nullptr : owners->if_array();
  if (list == nullptr) {
    return false;
  }
  const auto* const found = std::ranges::find_if(
      *list, [kind](const json::value& owner) { return kube::TextField(owner, {"kind"}) == kind; });
  if (found != list->end() && name != nullptr) {
    *name = std::string(kube::TextField(*found, {"name"}));
  }
  return found != list->end();
}

void ReadInstaller(const json::value& object, Workload& workload) {
  for (const std::string_view kind : {"ClusterPolicy", "NVIDIADriver", "GPUCluster"}) {
    if (IsOwnedBy(object, kind, nullptr)) {
      workload.by = InstalledBy::kGpuOperator;
      return;
    }
  }
  if (IsOwnedBy(object, "ClusterServiceVersion", &workload.release) ||
      !Meta(object, "labels", {"olm.owner"}).empty()) {
    workload.by = InstalledBy::kOlm;
    if (workload.release.empty()) {
      workload.release = Meta(object, "labels", {"olm.owner"});
    }
    return;
  }
  workload.release = Meta(object, "annotations", {"meta.helm.sh/release-name"});
  if (!workload.release.empty()) {
    workload.by = InstalledBy::kHelm;
    workload.release_space = Meta(object, "annotations", {"meta.helm.sh/release-namespace"});
    if (workload.release_space.empty()) {
      workload.release_space = workload.space;
    }
  }
}

std::string ReconcilerOf(const json::value& object) {
  if (!Meta(object, "annotations", {"argocd.argoproj.io/tracking-id"}).empty() ||
      !Meta(object, "labels", {"argocd.argoproj.io/instance"}).empty()) {
    return "Argo CD";
  }
  const bool is_flux =
      !Meta(object, "labels", {"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"})
           .empty();
  return is_flux ? "Flux" : "";
}

}  // namespace

std::span<const ComponentFacts> AllComponents() {
  return kComponents;
}

const ComponentFacts& FactsOf(Component component) {
  return *std::ranges::find(kComponents, component, &ComponentFacts::component);
}

std::string_view ToString(Fate fate) {
  static constexpr std::array<std::string_view, 3> kWords = {"replaced", "stays", "refused"};
  return kWords.at(static_cast<size_t>(fate));
}

std::optional<Workload> ReadWorkload(const json::value& object, std::string_view kind) {
  const std::optional<Recognised> recognised = Recognise(object);
  if (!recognised) {
    return std::nullopt;
  }
  Workload workload;
  workload.component = recognised->component;
  workload.kind = std::string(kind);
  workload.space = std::string(kube::NamespaceOf(object));
  workload.name = std::string(kube::NameOf(object));
  workload.version = VersionOfImage(recognised->image);
  if (workload.version.empty()) {
    workload.version = Meta(object, "labels", {"app.kubernetes.io/version"});
  }
  ReadInstaller(object, workload);
  workload.reconciler = ReconcilerOf(object);
  const json::value* labels = kube::FindField(object, {"spec", "selector", "matchLabels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      if (value.is_string()) {
        workload.selector.emplace(key, std::string_view(value.get_string()));
      }
    }
  }
  return workload;
}

std::string VersionOfImage(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const size_t slash = image.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? std::string() : std::string(name.substr(colon + 1));
}

}  // namespace kgpu::adopt
