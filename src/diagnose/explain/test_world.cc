#include "src/diagnose/explain/test_world.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fmt/format.h>

#include "src/kube/api/json.h"
#include "src/platform/doc/doc.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

constexpr const char* kPod = R"(
kind: Pod
metadata: {name: train, namespace: team-a, uid: u-1, creationTimestamp: "2026-03-01T10:00:00Z"}
spec:
  schedulerName: default-scheduler
  priority: 0
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
  - {name: main, image: "example.com/train:1",
     resources: {requests: {cpu: "4", nvidia.com/gpu: "2"}, limits: {nvidia.com/gpu: "2"}}}
status:
  phase: Pending
  conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]
)";
constexpr const char* kNodeA = R"(
kind: Node
metadata:
  name: node-a
  labels:
    nvidia.com/gpu.present: "true"
    nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
    nvidia.com/cuda.driver-version.full: 535.104.05
    nvidia.com/cuda.runtime-version.full: "12.2"
    kubernetes.io/arch: amd64
  annotations:
    kgpu.dev/gpus: '[{"uuid": "GPU-1", "pci": "0000:07:00.0", "model": "A100-SXM4-80GB"}]'
spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}
status:
  capacity: {cpu: "64", memory: 512Gi, pods: "110", nvidia.com/gpu: "8"}
  allocatable: {cpu: "62", memory: 500Gi, pods: "110", nvidia.com/gpu: "8"}
  conditions:
  - {type: Ready, status: "True", reason: KubeletReady}
  - {type: GPUReady, status: "True", reason: AllVerified}
  - {type: GPUHealthy, status: "True", reason: AllHealthy}
)";
constexpr const char* kNodeB = R"(
kind: Node
metadata: {name: node-b, labels: {kubernetes.io/arch: arm64, zone: b}}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "110"}
  allocatable: {cpu: "8", memory: 30Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
)";
constexpr const char* kHolder = R"(
kind: Pod
metadata: {name: serve, namespace: team-b, uid: u-2}
spec:
  nodeName: node-a
  priority: 10
  containers: [{name: main, resources: {limits: {nvidia.com/gpu: "4", cpu: "8"}}}]
status: {phase: Running, startTime: "2026-03-01T08:00:00Z"}
)";

json::value Yaml(const std::string& text) {
  auto value = doc::Parse(text, doc::Format::kYaml, "edit");
  EXPECT_TRUE(value.ok()) << value.status() << text;
  return value.ok() ? *value : json::value();
}

// Source: RFC 7396.
void Merge(json::value& target, const json::value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) {
    target = json::object();
  }
  for (const auto& field : patch.get_object()) {
    if (field.value().is_null()) {
      target.get_object().erase(field.key());
    } else {
      Merge(target.get_object()[field.key()], field.value());
    }
  }
}

}  // namespace

World::World()
    : listed_({"DeviceClass", "Event", "LimitRange", "Node", "Pod", "ResourceClaim",
               "ResourceClaimTemplate", "ResourceQuota", "ResourceSlice", "RuntimeClass"}) {
  for (const char* text : {kPod, kNodeA, kNodeB, kHolder}) {
    objects_.push_back(Yaml(text));
  }
}

World& World::Apply(const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    if (edit.object.empty()) {
      objects_.push_back(Yaml(edit.yaml));
    } else {
      Patch(edit);
    }
  }
  return *this;
}

void World::Patch(const Edit& edit) {
  for (json::value& object : objects_) {
    if (kube::NameOf(object) == edit.object) {
      Merge(object, Yaml(edit.yaml));
      return;
    }
  }
  ADD_FAILURE() << "no object " << edit.object;
}

World& World::Forget(const std::string& kind) {
  listed_.erase(kind);
  std::erase_if(objects_, [&](const json::value& object) {
    return kube::TextField(object, {"kind"}) == kind && kube::NameOf(object) != "train";
  });
  return *this;
}

Dump World::ToDump() const {
  Dump dump;
  dump.pod = "team-a/train";
  dump.listed = listed_;
  for (json::value object : objects_) {
    EXPECT_TRUE(Slim(object, ""));
    dump.items.push_back(std::move(object));
  }
  return dump;
}

Report World::Explain(std::string_view name) const {
  return explain::Explain(FactsOf(ToDump(), "team-a", name));
}

std::multiset<std::string> IdsOf(const Report& report) {
  std::multiset<std::string> ids;
  for (const report::Finding& reason : report.reasons) {
    ids.emplace(reason.id);
  }
  for (const NodeVerdict& node : report.nodes) {
    for (const report::Finding& reason : node.reasons) {
      ids.emplace(reason.id);
    }
  }
  return ids;
}

Edit Resources(const std::string& yaml) {
  return {"train", fmt::format("spec: {{containers: [{{name: main, resources: {}}}]}}", yaml)};
}

std::string EvidenceOf(const Report& report, const std::string& id) {
  std::string all;
  for (const report::Finding& reason : report.reasons) {
    all += reason.id == id ? reason.evidence.at(0) + "\n" : "";
  }
  for (const NodeVerdict& node : report.nodes) {
    for (const report::Finding& reason : node.reasons) {
      all += reason.id == id ? reason.evidence.at(0) + "\n" : "";
    }
  }
  return all;
}

}  // namespace kgpu::explain
