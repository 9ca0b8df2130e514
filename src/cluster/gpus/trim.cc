// Leaves of objects of the API server the fields that a summary needs.
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/cluster/fleet/node_facts.h"
#include "src/cluster/gpus/claimed.h"
#include "src/cluster/gpus/fields.h"
#include "src/cluster/gpus/summary.h"
#include "src/cluster/policy/gpu_policy.h"
#include "src/kube/api/json.h"
#include "src/node/labels/model_affinity.h"

namespace kgpu::gpus {
namespace {

namespace json = boost::json;
using kube::TextField;

constexpr std::array<std::string_view, 2> kLabels = {"nvidia.com/gpu.present",
                                                     "nvidia.com/gpu.product"};
constexpr std::array<std::string_view, 7> kAttributes = {
    "type", "uuid", "parentUUID", "profile", "productName", "kgpu.dev/model", "kgpu.dev/pool"};

json::object KeyOf(const json::value& object) {
  json::object metadata = {{"name", kube::NameOf(object)}};
  if (const std::string_view space = kube::NamespaceOf(object); !space.empty()) {
    metadata["namespace"] = space;
  }
  return metadata;
}

json::object OnlyGpus(const json::object& amounts) {
  json::object kept;
  for (const auto& [key, value] : amounts) {
    if (policy::IsGpuResource(ViewOf(key))) {
      kept[key] = value;
    }
  }
  return kept;
}

json::object TrimmedDevice(const json::value& device) {
  // Before Kubernetes 1.34 what a device has stood one level deeper.
  const json::value* basic = kube::FindField(device, {"basic"});
  const json::value& body = basic == nullptr ? device : *basic;
  json::object kept = {{"name", kube::TextField(device, {"name"})}};
  json::object attributes;
  for (const std::string_view name : kAttributes) {
    if (const json::value* value = kube::FindField(body, {"attributes", name}); value != nullptr) {
      attributes[name] = *value;
    }
  }
  kept["attributes"] = std::move(attributes);
  if (const json::array& taints = kube::ArrayField(body, {"taints"}); !taints.empty()) {
    kept["taints"] = taints;
  }
  if (FlagAt(body, {"allowMultipleAllocations"})) {
    kept["allowMultipleAllocations"] = true;
    kept["capacity"] = MapAt(body, {"capacity"});
  }
  return kept;
}

bool IsKeptLabel(std::string_view key) {
  return std::ranges::find(kLabels, key) != kLabels.end() ||
         key.starts_with(labels::kModelLabelPrefix);
}

}  // namespace

bool IsGpuNode(const json::value& node) {
  if (TextField(node, {"metadata", "labels", kLabels[0]}) == "true") {
    return true;
  }
  const bool has_condition = std::ranges::any_of(
      kube::ArrayField(node, {"status", "conditions"}),
      [](const json::value& condition) { return TextField(condition, {"type"}) == "GPUReady"; });
  return has_condition || !OnlyGpus(MapAt(node, {"status", "capacity"})).empty();
}

void TrimGpuNode(json::value& node) {
  json::object metadata = KeyOf(node);
  json::object kept_labels;
  for (const auto& [key, value] : MapAt(node, {"metadata", "labels"})) {
    if (IsKeptLabel(ViewOf(key))) {
      kept_labels[key] = value;
    }
  }
  metadata["labels"] = std::move(kept_labels);
  json::array conditions;
  for (const json::value& condition : kube::ArrayField(node, {"status", "conditions"})) {
    const std::string_view type = TextField(condition, {"type"});
    if (type == "Ready" || type == "GPUReady") {
      conditions.push_back(condition);
    }
  }
  json::object spec = {{"unschedulable", FlagAt(node, {"spec", "unschedulable"})}};
  if (const json::array& taints = kube::ArrayField(node, {"spec", "taints"}); !taints.empty()) {
    spec["taints"] = taints;
  }
  node = json::object{{"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status",
                       {{"conditions", std::move(conditions)},
                        {"capacity", OnlyGpus(MapAt(node, {"status", "capacity"}))},
                        {"allocatable", OnlyGpus(MapAt(node, {"status", "allocatable"}))}}}};
}

bool IsGpuPod(const json::value& pod) {
  return fleet::IsRelevantPod(pod);
}

void TrimGpuPod(json::value& pod) {
  json::array by_claim;
  for (const json::value& mapping :
       kube::ArrayField(pod, {"status", "extendedResourceClaimStatus", "requestMappings"})) {
    by_claim.emplace_back(TextField(mapping, {"resourceName"}));
  }
  fleet::TrimPod(pod);
  if (!by_claim.empty()) {
    pod.as_object()["byClaim"] = std::move(by_claim);
  }
}

bool IsGpuSlice(const json::value& slice) {
  return TextField(slice, {"spec", "driver"}) == kDraDriver;
}

void TrimGpuSlice(json::value& slice) {
  json::array devices;
  for (const json::value& device : kube::ArrayField(slice, {"spec", "devices"})) {
    devices.push_back(TrimmedDevice(device));
  }
  slice = json::object{
      {"spec",
       {{"driver", TextField(slice, {"spec", "driver"})},
        {"nodeName", TextField(slice, {"spec", "nodeName"})},
        {"pool",
         {{"name", TextField(slice, {"spec", "pool", "name"})},
          {"generation", kube::IntField(slice, {"spec", "pool", "generation"}).value_or(0)}}},
        {"devices", std::move(devices)}}}};
}

bool IsGpuClaim(const json::value& claim) {
  return std::ranges::any_of(
      kube::ArrayField(claim, {"status", "allocation", "devices", "results"}),
      [](const json::value& result) { return TextField(result, {"driver"}) == kDraDriver; });
}

void TrimGpuClaim(json::value& claim) {
  claim = json::object{{"metadata", KeyOf(claim)},
                       {"status",
                        {{"reservedFor", kube::ArrayField(claim, {"status", "reservedFor"})},
                         {"allocation",
                          {{"devices",
                            {{"results", kube::ArrayField(claim, {"status", "allocation", "devices",
                                                                  "results"})}}}}}}}};
}

}  // namespace kgpu::gpus
