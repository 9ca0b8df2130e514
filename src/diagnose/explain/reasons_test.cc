// Each reason alone: one edit of a cluster in which the pod fits brings exactly it, and its fix,
// where that is a change of an object, takes it away again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "src/diagnose/explain/test_world.h"

namespace kgpu::explain {
namespace {

struct Row {
  std::string id;
  std::vector<Edit> breaks;
  std::vector<Edit> fixes{};     // none: what fixes it is no change of an object here
  std::set<std::string> also{};  // what cannot but come with it
  std::string evidence{};        // part of it
};

const char kFits[] = "{limits: {nvidia.com/gpu: \"2\"}}";

std::vector<Row> NodeStateRows() {
  return {
      {"node-not-ready",
       {{"node-a",
         "status: {conditions: [{type: Ready, status: Unknown, reason: NodeStatusUnknown}]}\n"
         "spec: {taints: [{key: node.kubernetes.io/unreachable, effect: NoSchedule}]}"}},
       {{"node-a", "status: {conditions: [{type: Ready, status: 'True'}]}\nspec: {taints: []}"}},
       {},
       "NodeStatusUnknown"},
      {"node-cordoned",
       {{"node-a", "spec: {unschedulable: true}"}},
       {{"node-a", "spec: {unschedulable: null}"}}},
      {"node-pressure",
       {{"node-a",
         "status: {conditions: [{type: DiskPressure, status: 'True', reason: KubeletHasDiskPressure"
         "}]}\nspec: {taints: [{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}]}"}},
       {{"node-a", "status: {conditions: []}\nspec: {taints: []}"}},
       {},
       "KubeletHasDiskPressure"},
      {"gpu-gate-closed",
       {{"node-a",
         "spec: {taints: [{key: kgpu.dev/not-ready, effect: NoSchedule}]}\n"
         "status: {conditions: [{type: GPUReady, status: 'False', reason: CdiNotWritten}]}"}},
       {{"node-a", "spec: {taints: []}"}},
       {},
       "CdiNotWritten"},
      {"taint-not-tolerated",
       {{"train", "spec: {tolerations: []}"}},
       {{"train", "spec: {tolerations: [{key: nvidia.com/gpu, operator: Exists}]}"}},
       {},
       "nvidia.com/gpu=present:NoSchedule"},
  };
}

std::vector<Row> LabelAndPluginRows() {
  return {
      {"selector-differs",
       {{"train", "spec: {nodeSelector: {zone: b}}"}},
       {{"node-a", "metadata: {labels: {zone: b}}"}},
       {},
       "requires zone=b; the node has no such label"},
      {"affinity-differs",
       {{"train",
         "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: "
         "[arm64]}]}]}}}}"}},
       {{"train", "spec: {affinity: null}"}},
       {},
       "kubernetes.io/arch In [arm64]; the node has amd64"},
      {"driver-too-old",
       {{"train",
         "spec: {containers: [{name: main, env: [{name: NVIDIA_REQUIRE_CUDA, value: "
         "'cuda>=12.6'}], resources: {limits: {nvidia.com/gpu: 2}}}]}"}},
       {{"node-a",
         "metadata: {labels: {nvidia.com/cuda.driver-version.full: '570.86.15', "
         "nvidia.com/cuda.runtime-version.full: '12.8'}}"}},
       {},
       "cuda>=12.6"},
      {"plugin-not-registered",
       {{"node-a",
         "status: {capacity: {nvidia.com/gpu: null}, allocatable: {nvidia.com/gpu: null}}"},
        {"serve", "spec: {containers: []}"}},
       {{"node-a", "status: {allocatable: {nvidia.com/gpu: 8}}"}},
       {},
       "allocatable has no nvidia.com/gpu"},
      {"plugin-not-registered",
       {{"node-a", "status: {allocatable: {nvidia.com/gpu: 0}}"}},
       {{"node-a", "status: {allocatable: {nvidia.com/gpu: 8}}"}},
       {},
       "the plugin has stopped"},
      {"resource-other",
       {{"node-a",
         "status: {capacity: {nvidia.com/gpu: null, nvidia.com/gpu.shared: 8}, "
         "allocatable: {nvidia.com/gpu: null, nvidia.com/gpu.shared: 8}}"},
        {"",
         "kind: Node\nmetadata: {name: node-c}\nspec: {unschedulable: true}\n"
         "status: {capacity: {nvidia.com/gpu: 8}, allocatable: {nvidia.com/gpu: 8}}"}},
       {Resources("{limits: {nvidia.com/gpu.shared: 2}}"), {"node-c", "status: null"}},
       {"node-cordoned"},
       "the node offers nvidia.com/gpu.shared 8"},
  };
}

std::vector<Row> DeviceRows() {
  return {
      {"resource-not-offered",
       {{"node-a",
         "metadata: {labels: null}\nstatus: {capacity: {nvidia.com/gpu: null}, "
         "allocatable: {nvidia.com/gpu: null, example.com/fpga: 1}}"},
        Resources("{limits: {nvidia.com/gpu: 2, example.com/fpga: 1}}"),
        {"",
         "kind: Node\nmetadata: {name: node-c}\nstatus: {capacity: {nvidia.com/gpu: 8}, "
         "allocatable: {nvidia.com/gpu: 8}}"}},
       {Resources(kFits)},
       {},
       ""},
      {"gpu-too-few",
       {{"node-a", "status: {capacity: {nvidia.com/gpu: 1}, allocatable: {nvidia.com/gpu: 1}}"},
        {"serve", "spec: {containers: []}"},
        {"",
         "kind: Node\nmetadata: {name: node-c}\nspec: {unschedulable: true}\n"
         "status: {capacity: {nvidia.com/gpu: 8}, allocatable: {nvidia.com/gpu: 8}}"}},
       {},
       {"node-cordoned"},
       "requests 2 nvidia.com/gpu, the node has 1"},
      {"gpu-withheld",
       {{"node-a",
         "status: {allocatable: {nvidia.com/gpu: 5}, conditions: [{type: GPUHealthy, "
         "status: 'False', reason: Xid79, message: 'GPU 3 (GPU-x): Xid79: lost'}]}"}},
       {{"node-a", "status: {allocatable: {nvidia.com/gpu: 6}}"}},
       {},
       "3 of 8 unhealthy: GPUHealthy=False, Xid79: GPU 3"},
      {"mig-layout-open",
       {{"node-a",
         "metadata: {labels: {nvidia.com/mig.config: halves, nvidia.com/mig.config.state: "
         "pending}}\nstatus: {allocatable: {nvidia.com/gpu: 5}}"}},
       {{"node-a",
         "metadata: {labels: {nvidia.com/mig.config.state: success}}\n"
         "status: {allocatable: {nvidia.com/gpu: 6}}"}},
       {},
       "1 free; its MIG layout halves is pending"},
      {"gpu-in-use",
       {{"serve", "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 7}}}]}"}},
       {{"serve", "status: {phase: Succeeded}"}},
       {},
       "1 free of 8: team-b/serve (7 since 2026-03-01T08:00:00Z)"},
      {"host-resources-short",
       {{"train",
         "spec: {containers: [{name: main, resources: {requests: {cpu: 60}, limits: "
         "{nvidia.com/gpu: 2}}}]}"}},
       {Resources("{requests: {cpu: 54}, limits: {nvidia.com/gpu: 2}}")},
       {},
       "requests 60 cpu, 54 free of 62"},
      {"host-resources-short",
       {{"node-a", "status: {allocatable: {pods: 1}}"}},
       {{"node-a", "status: {allocatable: {pods: 2}}"}},
       {},
       "1 pods of 1"},
  };
}

std::vector<Row> ClaimRows() {
  return {
      {"claim-missing",
       {{"train", kClaimPod}},
       {{"", kClaim}, {"", kClass}, {"", kSlice}},
       {},
       "ResourceClaim one not found"},
      {"claim-missing",
       {{"train", kClaimPod}, {"", kClaim}, {"", kSlice}},
       {{"", kClass}},
       {},
       "DeviceClass gpu.nvidia.com not found"},
      {"claim-missing",
       {{"train",
         "spec: {containers: [{name: main}], resourceClaims: [{name: gpu, "
         "resourceClaimTemplateName: t}]}"}},
       {{"", "kind: ResourceClaimTemplate\nmetadata: {name: t, namespace: team-a}"}},
       {},
       "ResourceClaimTemplate t not found"},
      {"claim-pending",
       {{"train", kClaimPod}, {"", kClaim}, {"", kClass}, {"", kSlice}},
       {{"one",
         "status: {allocation: {devices: {results: [{driver: gpu.nvidia.com, pool: node-a, "
         "device: gpu-0}]}}}"}},
       {},
       "requests 1 of gpu.nvidia.com"},
      {"claim-elsewhere",
       {{"train", kClaimPod},
        {"", kClaim},
        {"", kClass},
        {"one",
         "status: {allocation: {nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: "
         "metadata.name, operator: In, values: [node-z]}]}]}}}"}},
       {{"one", "status: {allocation: {nodeSelector: null}}"}},
       {},
       "claim one has devices on another node"},
      {"claim-no-device",
       {{"train", kClaimPod},
        {"", kClaim},
        {"", kClass},
        {"", kSlice},
        {"",
         "kind: ResourceClaim\nmetadata: {name: two, namespace: team-b}\nstatus: {allocation: "
         "{devices: {results: [{driver: gpu.nvidia.com, pool: node-a, device: gpu-0}]}}}"}},
       {{"two", "status: null"}},
       {"claim-pending"},
       "0 free of 1"},
  };
}

std::vector<Row> ManifestRows() {
  return {
      {"runtime-class-missing",
       {{"train", "spec: {runtimeClassName: nvidia}"}},
       {{"", "kind: RuntimeClass\nmetadata: {name: nvidia}\nhandler: nvidia"}},
       {},
       "available: none"},
      {"scheduling-gated",
       {{"train", "spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}"}},
       {{"train", "spec: {schedulingGates: []}"}},
       {},
       "kueue.x-k8s.io/admission"},
      {"resource-gone",
       {Resources("{limits: {alpha.kubernetes.io/nvidia-gpu: 1}}")},
       {Resources(kFits)},
       {},
       "container main requests 1 alpha.kubernetes.io/nvidia-gpu"},
      {"no-gpu-asked",
       {{"train",
         "spec: {containers: [{name: main, env: [{name: NVIDIA_VISIBLE_DEVICES, value: "
         "all}]}]}"}},
       {Resources(kFits)},
       {},
       "NVIDIA_VISIBLE_DEVICES=all"},
      {"quantity-wrong",
       {Resources("{limits: {nvidia.com/gpu: \"2\", memory: lots}}")},
       {Resources(kFits)},
       {},
       "memory"},
      {"resource-fraction",
       {Resources("{limits: {nvidia.com/gpu: 500m}}")},
       {Resources(kFits)},
       {},
       "500m nvidia.com/gpu"},
      {"requests-limits-differ",
       {Resources("{requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}")},
       {Resources(kFits)},
       {},
       "request 1, limit 2"},
      {"resource-unknown",
       {Resources("{limits: {nvidia.com/gpus: 2}}")},
       {Resources(kFits)},
       {"resource-other"},
       "nvidia.com/gpus; nodes offer nvidia.com/gpu (1 node)"},
      {"resource-unknown",
       {Resources("{limits: {nvidia.com/mig-1g.5gb: 1}}")},
       {Resources(kFits)},
       {"resource-other"},
       "nvidia.com/mig-1g.5gb; nodes offer nvidia.com/gpu (1 node)"},
      {"resource-too-many",
       {Resources("{limits: {nvidia.com/gpu: 16}}")},
       {Resources(kFits)},
       {"gpu-too-few"},
       "requests 16 nvidia.com/gpu on one node, but no node has more than 8"},
  };
}

std::vector<Row> WaitingRows() {
  return {
      {"selector-matches-no-node",
       {{"train", "spec: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100}}"}},
       {{"train", "spec: {nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}}"}},
       {"selector-differs"},
       "nvidia.com/gpu.product=NVIDIA-A100; nodes have "
       "nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB"},
      {"selector-matches-no-node",
       {{"train",
         "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: nvidia.com/gpu.produkt, operator: "
         "Exists}]}]}}}}"}},
       {{"train", "spec: {affinity: null}"}},
       {"affinity-differs"},
       "some have nvidia.com/gpu.product"},
      {"preempting",
       {{"train", "status: {nominatedNodeName: node-a}"}},
       {{"train", "status: {nominatedNodeName: null}"}}},
      {"preemption-possible",
       {{"serve", "spec: {containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}"},
        {"train", "spec: {priority: 100}"}},
       {{"serve", "status: {phase: Failed}"}},
       {"gpu-in-use"},
       "team-b/serve"},
      {"scheduler-other",
       {{"train", "spec: {schedulerName: volcano}"}},
       {{"train", "spec: {schedulerName: default-scheduler}"}}},
      {"scheduler-silent",
       {{"train", "status: {conditions: []}"}},
       {{"train", "status: {conditions: [{type: PodScheduled, status: 'False'}]}"}}},
      {"scheduler-says",
       {{"",
         "kind: Event\nmetadata: {name: e}\ninvolvedObject: {kind: Pod, namespace: team-a, "
         "name: train, uid: u-1}\nreason: FailedScheduling\nmessage: '0/2 nodes are available'"}},
       {},
       {},
       "0/2 nodes are available"},
      {"pod-ending", {{"train", "metadata: {deletionTimestamp: '2026-03-01T11:00:00Z'}"}}},
      {"quota-exceeded",
       {{"train", "metadata: {uid: null}"},
        {"",
         "kind: ResourceQuota\nmetadata: {name: q, namespace: team-a}\nstatus: {hard: "
         "{requests.nvidia.com/gpu: 4}, used: {requests.nvidia.com/gpu: 3}}"}},
       {{"q", "status: {hard: {requests.nvidia.com/gpu: 5}}"}},
       {},
       "3 used of 4, requests 2 more"},
      {"limit-range",
       {{"train", "metadata: {uid: null}"},
        {"",
         "kind: LimitRange\nmetadata: {name: l, namespace: team-a}\nspec: {limits: [{type: "
         "Container, max: {nvidia.com/gpu: 1}}]}"}},
       {{"l", "spec: {limits: [{type: Container, max: {nvidia.com/gpu: 2}}]}"}},
       {},
       "most of a Container for nvidia.com/gpu: 1; container main requests 2"},
  };
}

// Of a pod on node-a whose container waits for `reason`.
std::vector<Edit> Waits(const std::string& reason, const std::string& message) {
  return {{"train", fmt::format("spec: {{nodeName: node-a}}\nstatus: {{phase: Pending, "
                                "containerStatuses: [{{name: main, state: {{waiting: {{reason: {}, "
                                "message: '{}'}}}}}}]}}",
                                reason, message)}};
}

std::vector<Edit> Fails(const std::string& reason, const std::string& message) {
  return {{"train", fmt::format("spec: {{nodeName: node-a}}\nstatus: {{phase: Failed, reason: {}, "
                                "message: '{}'}}",
                                reason, message)}};
}

std::vector<Edit> Runs() {
  return {{"train",
           "spec: {nodeName: node-a}\nstatus: {phase: Running, reason: null, message: "
           "null, containerStatuses: [{name: main, state: {running: {}}}]}"}};
}

std::vector<Edit> Reports(const std::string& reason, const std::string& message) {
  return {{"train", "spec: {nodeName: node-a}"},
          {"", fmt::format("kind: Event\nmetadata: {{name: e}}\nregarding: {{kind: Pod, namespace: "
                           "team-a, name: train}}\nreason: {}\nnote: '{}'",
                           reason, message)}};
}

std::vector<Row> TroubleRows() {
  return {
      {"admission-refused",
       Fails("UnexpectedAdmissionError", "Allocate failed due to no healthy devices present"),
       Runs(),
       {},
       "Allocate failed"},
      {"shared-too-many",
       Fails("UnexpectedAdmissionError",
             "Allocate failed: request for nvidia.com/gpu.shared: 2 too large: maximum request "
             "size for shared resources is 1"),
       Runs()},
      {"kubelet-out-of-resource", Fails("OutOfnvidia.com/gpu", "requested: 2, used: 8"), Runs()},
      {"topology-refused",
       Fails("TopologyAffinityError", "Resources cannot be allocated with Topology locality"),
       Runs(),
       {},
       "Topology locality"},
      {"kubelet-refused", Fails("Evicted", "The node was low on resource: memory"), Runs()},
      {"cdi-device-unknown",
       Waits("CreateContainerError", "CDI device injection failed: unresolvable CDI devices x"),
       Runs(),
       {},
       "unresolvable"},
      {"runtime-handler-unknown",
       Reports("FailedCreatePodSandBox", "no runtime for \"nvidia\" is configured"), Runs()},
      {"cuda-requirement",
       Waits("RunContainerError",
             "requirement error: unsatisfied condition: cuda>=12.4, please update your driver"),
       Runs()},
      {"driver-not-loaded",
       Waits("RunContainerError", "initialization error: nvml error: driver not loaded"), Runs()},
      {"claim-not-prepared", Reports("FailedPrepareDynamicResources", "device is taken"), Runs()},
      {"image-pull", Waits("ImagePullBackOff", "not found"), Runs()},
      {"container-not-created", Waits("CreateContainerConfigError", "secret x not found"), Runs()},
      {"container-ended",
       {{"train",
         "spec: {nodeName: node-a}\nstatus: {phase: Running, containerStatuses: [{name: main, "
         "restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: "
         "{exitCode: 137, reason: OOMKilled}}}]}"}},
       Runs(),
       {},
       "container main: OOMKilled with exit code 137, 3 restarts"},
      {"gpu-unhealthy",
       Reports("GPUUnhealthy", "XID 79: the GPU has fallen off the bus"),
       {},
       {},
       "XID 79"},
  };
}

std::vector<Row> AllRows() {
  std::vector<Row> all;
  for (const auto& rows : {NodeStateRows(), LabelAndPluginRows(), DeviceRows(), ClaimRows(),
                           ManifestRows(), WaitingRows(), TroubleRows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

TEST(ReasonsTest, ThePodFitsUnlessSomethingIsBroken) {
  const Report report = World().Explain();
  EXPECT_TRUE(IdsOf(report).empty()) << ::testing::PrintToString(IdsOf(report));
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_TRUE(report.nodes.front().fits());
  EXPECT_EQ(report.other_nodes, 1U);
}

TEST(ReasonsTest, EachIsFoundAlone) {
  for (const Row& row : AllRows()) {
    const Report report = World().Apply(row.breaks).Explain();
    const std::multiset<std::string> ids = IdsOf(report);
    EXPECT_GE(ids.count(row.id), 1U) << row.id << " among " << ::testing::PrintToString(ids);
    for (const std::string& id : ids) {
      EXPECT_TRUE(id == row.id || row.also.contains(id)) << row.id << " brings " << id;
    }
    EXPECT_THAT(EvidenceOf(report, row.id), ::testing::HasSubstr(row.evidence)) << row.id;
  }
}

TEST(ReasonsTest, EachIsClearedByItsFix) {
  for (const Row& row : AllRows()) {
    if (row.fixes.empty()) {
      continue;
    }
    const Report report = World().Apply(row.breaks).Apply(row.fixes).Explain();
    EXPECT_FALSE(EvidenceOf(report, row.id).find_first_not_of('\n') != std::string::npos)
        << row.id << " stays: " << EvidenceOf(report, row.id);
  }
}

TEST(ReasonsTest, EachBlockingOneHasAFix) {
  const std::set<std::string_view> without = {"resource-not-offered", "gpu-too-few"};
  for (const Row& row : AllRows()) {
    const Report report = World().Apply(row.breaks).Explain();
    for (const report::Finding& reason : report.reasons) {
      EXPECT_TRUE(!IsBlocking(reason) || !reason.fix.commands.empty()) << reason.id;
    }
    for (const NodeVerdict& node : report.nodes) {
      for (const report::Finding& reason : node.reasons) {
        EXPECT_TRUE(!reason.fix.commands.empty() || without.contains(reason.id)) << reason.id;
      }
    }
  }
}

TEST(ReasonsTest, EachOfTheTableHasARow) {
  std::set<std::string_view> ids;
  const std::vector<Row> rows = AllRows();
  for (const Row& row : rows) {
    ids.insert(row.id);
  }
  // Reasons of claims, and of pods that are not there, have tests of their own.
  const std::set<std::string_view> elsewhere = {"pod-absent", "priority-class-missing",
                                                "create-refused"};
  for (const report::Kind& kind : ReasonKinds()) {
    EXPECT_TRUE(kind.extra == "claim" || ids.contains(kind.id) || elsewhere.contains(kind.id))
        << kind.id;
  }
}

}  // namespace
}  // namespace kgpu::explain
