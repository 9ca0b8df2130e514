// The fields of an object that are kept: those that are judged, so that no others get through.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "src/diagnose/explain/dump.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

// "a.b" is field b of a; "a.*.b" field b of every item of the list a.
struct Kept {
  std::string_view kind;
  std::span<const std::string_view> paths;
};

constexpr std::array<std::string_view, 48> kPodKeys = {
    "spec.affinity.nodeAffinity",
    "spec.affinity.podAffinity",
    "spec.affinity.podAntiAffinity",
    "spec.containers.*.env.*.name",
    "spec.containers.*.env.*.value",
    "spec.containers.*.image",
    "spec.containers.*.name",
    "spec.containers.*.ports.*.hostPort",
    "spec.containers.*.resources",
    "spec.initContainers.*.env.*.name",
    "spec.initContainers.*.env.*.value",
    "spec.initContainers.*.image",
    "spec.initContainers.*.name",
    "spec.initContainers.*.resources",
    "spec.initContainers.*.restartPolicy",
    "spec.nodeName",
    "spec.nodeSelector",
    "spec.overhead",
    "spec.preemptionPolicy",
    "spec.priority",
    "spec.priorityClassName",
    "spec.resourceClaims",
    "spec.resources",
    "spec.runtimeClassName",
    "spec.schedulerName",
    "spec.schedulingGates",
    "spec.tolerations",
    "spec.topologySpreadConstraints.*.topologyKey",
    "spec.volumes.*.ephemeral.none",  // that there is one
    "spec.volumes.*.persistentVolumeClaim.claimName",
    "status.conditions",
    "status.containerStatuses.*.lastState",
    "status.containerStatuses.*.name",
    "status.containerStatuses.*.restartCount",
    "status.containerStatuses.*.state",
    "status.initContainerStatuses.*.lastState",
    "status.initContainerStatuses.*.name",
    "status.initContainerStatuses.*.restartCount",
    "status.initContainerStatuses.*.state",
    "status.message",
    "status.nominatedNodeName",
    "status.phase",
    "status.reason",
    "status.resourceClaimStatuses",
    "status.startTime",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.ownerReferences",
};
constexpr std::array<std::string_view, 12> kHolder = {
    "metadata.deletionTimestamp",
    "spec.containers.*.resources",
    "spec.initContainers.*.resources",
    "spec.initContainers.*.restartPolicy",
    "spec.nodeName",
    "spec.overhead",
    "spec.priority",
    "spec.resources",
    "status.nominatedNodeName",
    "status.phase",
    "status.startTime",
    "metadata.creationTimestamp",
};
constexpr std::array<std::string_view, 7> kNodeKeys = {
    "metadata.annotations", "metadata.labels", "spec.taints",      "spec.unschedulable",
    "status.allocatable",   "status.capacity", "status.conditions"};
constexpr std::array<std::string_view, 10> kEvent = {"metadata.creationTimestamp",
                                                     "deprecatedLastTimestamp",
                                                     "eventTime",
                                                     "involvedObject",
                                                     "lastTimestamp",
                                                     "message",
                                                     "note",
                                                     "reason",
                                                     "series.lastObservedTime",
                                                     "regarding"};
constexpr std::array<std::string_view, 4> kQuota = {"spec.scopeSelector", "spec.scopes",
                                                    "status.hard", "status.used"};
constexpr std::array<std::string_view, 1> kSlimLimits = {"spec.limits"};
constexpr std::array<std::string_view, 1> kRuntime = {"handler"};
constexpr std::array<std::string_view, 5> kClaim = {
    "spec.devices.constraints", "spec.devices.requests", "status.allocation.devices.results",
    "status.allocation.nodeSelector", "status.reservedFor"};
constexpr std::array<std::string_view, 2> kClass = {"spec.extendedResourceName", "spec.selectors"};
constexpr std::array<std::string_view, 1> kSlice = {"spec"};
constexpr std::array<std::string_view, 2> kTaintRule = {"spec.deviceSelector", "spec.taint"};

constexpr std::array kSlimKinds = {
    Kept{"Pod", kPodKeys},
    Kept{"Node", kNodeKeys},
    Kept{"Event", kEvent},
    Kept{"ResourceQuota", kQuota},
    Kept{"LimitRange", kSlimLimits},
    Kept{"RuntimeClass", kRuntime},
    Kept{"ResourceClaim", kClaim},
    Kept{"ResourceClaimTemplate", {}},
    Kept{"DeviceClass", kClass},
    Kept{"ResourceSlice", kSlice},
    Kept{"DeviceTaintRule", kTaintRule},
};

using Paths = std::vector<std::string_view>;

std::string_view HeadOf(std::string_view path) {
  return path.substr(0, path.find('.'));
}

// Moves what `paths` name from one object into another.
json::value Pick(json::value& from, const Paths& paths);

json::value PickItems(json::value& from, const Paths& paths) {
  json::array items;
  if (json::array* list = from.if_array()) {
    for (json::value& item : *list) {
      items.push_back(Pick(item, paths));
    }
  }
  return items;
}

// The part of `paths` below `key`, without it; nothing: all of it.
std::optional<Paths> Below(const Paths& paths, std::string_view key) {
  Paths below;
  for (const std::string_view path : paths) {
    if (path == key) {
      return std::nullopt;
    }
    if (HeadOf(path) == key) {
      below.push_back(path.substr(key.size() + 1));
    }
  }
  return below;
}

json::value Pick(json::value& from, const Paths& paths) {
  json::object kept;
  json::object* fields = from.if_object();
  if (fields == nullptr) {
    return kept;
  }
  for (auto& field : *fields) {
    const std::string_view key(field.key().data(), field.key().size());
    const std::optional<Paths> below = Below(paths, key);
    if (!below) {
      kept[field.key()] = std::move(field.value());
    } else if (!below->empty()) {
      const std::optional<Paths> items = Below(*below, "*");
      kept[field.key()] = !items || !items->empty()
                              ? PickItems(field.value(), items.value_or(Paths()))
                              : Pick(field.value(), *below);
    }
  }
  return kept;
}

void KeepOurEnvironment(json::object& container) {
  json::value* list = container.if_contains("env");
  if (list == nullptr || !list->is_array()) {
    return;
  }
  json::array kept;
  for (json::value& item : list->get_array()) {
    const std::string_view name = kube::TextField(item, {"name"});
    if (IsJudgedVariable(name)) {
      kept.push_back(std::move(item));
    }
  }
  if (kept.empty()) {
    container.erase("env");
  } else {
    *list = std::move(kept);
  }
}

void SlimPod(json::object& pod) {
  json::value* spec = pod.if_contains("spec");
  for (const char* list : {"containers", "initContainers"}) {
    json::value* containers =
        spec == nullptr || !spec->is_object() ? nullptr : spec->get_object().if_contains(list);
    if (containers == nullptr || !containers->is_array()) {
      continue;
    }
    for (json::value& container : containers->get_array()) {
      if (container.is_object()) {
        KeepOurEnvironment(container.get_object());
      }
    }
  }
}

void SlimNode(json::object& node) {
  json::value* metadata = node.if_contains("metadata");
  json::value* notes = metadata == nullptr || !metadata->is_object()
                           ? nullptr
                           : metadata->get_object().if_contains("annotations");
  if (notes == nullptr || !notes->is_object()) {
    return;
  }
  json::object kept;
  for (auto& field : notes->get_object()) {
    if (field.key().starts_with("kgpu.dev/")) {
      kept[field.key()] = std::move(field.value());
    }
  }
  *notes = std::move(kept);
}

constexpr std::array<std::string_view, 5> kOfAll = {"kind", "apiVersion", "metadata.name",
                                                    "metadata.namespace", "metadata.uid"};

json::value PickObject(json::value& object, std::string_view kind,
                       std::span<const std::string_view> of_kind) {
  Paths paths(kOfAll.begin(), kOfAll.end());
  paths.insert(paths.end(), of_kind.begin(), of_kind.end());
  json::value kept = Pick(object, paths);
  kept.get_object()["kind"] = json::string_view(kind.data(), kind.size());
  return kept;
}

}  // namespace

bool IsJudgedVariable(std::string_view name) {
  constexpr std::array<std::string_view, 5> kNames = {
      "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_DISABLE_REQUIRE",
      "CUDA_VERSION", "CUDA_VISIBLE_DEVICES"};
  return name.starts_with("NVIDIA_REQUIRE_") || std::ranges::find(kNames, name) != kNames.end();
}

bool Slim(json::value& object, std::string_view kind) {
  const std::string named(kind.empty() ? kube::TextField(object, {"kind"}) : kind);
  const auto* const found = std::ranges::find(kSlimKinds, std::string_view(named), &Kept::kind);
  if (found == kSlimKinds.end() || !object.is_object()) {
    return false;
  }
  object = PickObject(object, named, found->paths);
  if (named == "Pod") {
    SlimPod(object.get_object());
  } else if (named == "Node") {
    SlimNode(object.get_object());
  }
  return true;
}

void SlimHolder(json::value& pod) {
  pod = PickObject(pod, "Pod", kHolder);
}

}  // namespace kgpu::explain
