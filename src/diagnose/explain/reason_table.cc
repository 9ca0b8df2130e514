#include <algorithm>
#include <array>
#include <utility>

#include "src/diagnose/explain/reason.h"
#include "src/platform/report/print.h"

namespace kgpu::explain {
namespace {

using enum report::Severity;

constexpr std::string_view kNode = "node";
constexpr std::string_view kPod = "pod";
constexpr std::string_view kClaims = "claim";

constexpr auto kKinds = std::to_array<report::Kind>({
    // Why a node does not fit.
    {"node-not-ready", kError, "the node's kubelet is not ready", kNode},
    {"node-cordoned", kError, "the node takes no new pods", kNode},
    {"node-pressure", kError, "the node is short of disk, memory or processes", kNode},
    {"gpu-gate-closed", kError, "kgpu has not verified that pods can get GPUs on the node", kNode},
    {"taint-not-tolerated", kError, "the node has a taint that the pod does not tolerate", kNode},
    {"selector-differs", kError, "the node lacks a label of spec.nodeSelector", kNode},
    {"affinity-differs", kError, "no term of the required node affinity matches", kNode},
    {"plugin-not-registered", kError,
     "the node has GPUs, but its kubelet reports none as allocatable", kNode},
    {"resource-other", kError, "the node offers its GPUs under another name", kNode},
    {"resource-not-offered", kError, "the node does not offer the resource", kNode},
    {"gpu-too-few", kError, "the pod requests more than the node has", kNode},
    {"gpu-withheld", kError, "GPUs of the node are unhealthy and not allocated", kNode},
    {"mig-layout-open", kError, "the node's GPUs do not have the requested MIG layout yet", kNode},
    {"gpu-in-use", kError, "other pods use the GPUs", kNode},
    {"claim-elsewhere", kError,
     "a resource claim of the pod is allocated to devices of other nodes", kNode},
    {"claim-no-device", kError, "the node has no free device of the driver that a claim requests",
     kNode},
    {"host-resources-short", kError, "the node has too little CPU, memory or room for pods", kNode},
    {"driver-too-old", kInfo,
     "the node's driver does not support the CUDA version that a container requires", kNode},
    // Reasons of the pod itself.
    {"pod-absent", kError, "the pod does not exist", kPod},
    {"quota-exceeded", kError, "a ResourceQuota of the namespace forbids it", kPod},
    {"limit-range", kError, "a LimitRange of the namespace forbids it", kPod},
    {"runtime-class-missing", kError, "the RuntimeClass does not exist", kPod},
    {"priority-class-missing", kError, "the PriorityClass does not exist", kPod},
    {"create-refused", kError, "the API server rejected the pod", kPod},
    {"scheduling-gated", kError, "the pod has scheduling gates", kPod},
    {"no-gpu-asked", kError, "no container requests a GPU", kPod},
    {"resource-gone", kError, "a container requests GPUs by a resource that Kubernetes removed",
     kPod},
    {"quantity-wrong", kError, "an amount is not a valid quantity", kPod},
    {"resource-fraction", kError, "a fraction of a device is requested", kPod},
    {"requests-limits-differ", kError, "requests and limits of a device differ", kPod},
    {"resource-unknown", kError, "no node offers the resource", kPod},
    {"resource-too-many", kError, "no node has that many", kPod},
    {"selector-matches-no-node", kError, "no node has the label that the pod requires", kPod},
    {"claim-missing", kError, "a resource claim, its template or its class does not exist", kPod},
    {"claim-pending", kInfo, "a resource claim is not allocated yet", kPod},
    {"preempting", kInfo, "the scheduler is preempting pods", kPod},
    {"preemption-possible", kInfo, "preempting pods of lower priority would free enough", kPod},
    {"scheduler-other", kInfo, "the pod uses another scheduler", kPod},
    {"scheduler-silent", kInfo, "no scheduler has processed the pod", kPod},
    {"scheduler-says", kInfo, "the scheduler's message", kPod},
    {"pod-ending", kInfo, "the pod is being deleted", kPod},
    // Failures after the scheduler.
    {"admission-refused", kError, "the kubelet could not give the pod its devices", kPod},
    {"shared-too-many", kError, "the device plugin allocates one slot of a shared GPU per pod",
     kPod},
    {"kubelet-out-of-resource", kError,
     "the kubelet had fewer devices left than the scheduler assumed", kPod},
    {"topology-refused", kError,
     "the node's GPUs, CPUs and memory for the pod are on different NUMA nodes", kPod},
    {"kubelet-refused", kError, "the kubelet rejected or stopped the pod", kPod},
    {"cdi-device-unknown", kError, "the runtime does not know the CDI device", kPod},
    {"runtime-handler-unknown", kError,
     "the container engine does not know the runtime of the RuntimeClass", kPod},
    {"cuda-requirement", kError, "the image requires another CUDA version, driver or GPU", kPod},
    {"driver-not-loaded", kError, "the driver did not answer when the container started", kPod},
    {"claim-not-prepared", kError, "the DRA driver could not prepare a claim", kPod},
    {"image-pull", kError, "an image cannot be pulled", kPod},
    {"container-not-created", kError, "a container cannot be created or started", kPod},
    {"container-ended", kError, "a container keeps exiting", kPod},
    {"gpu-unhealthy", kInfo, "a GPU of the pod is or was unhealthy, or its program failed on it",
     kPod},
    // Why a claim does not get the devices of a node.
    {"device-driver-absent", kError, "no ResourceSlice is of the driver that the class names",
     kClaims},
    {"device-selector-invalid", kError, "a selector is not valid CEL", kClaims},
    {"device-unknown", kError, "kgpu cannot decide whether devices match", kClaims},
    {"device-selector-fails", kError,
     "a selector fails for a device, so the scheduler does not use the node", kClaims},
    {"device-pool-unusable", kError, "ResourceSlices of the node are incomplete or inconsistent",
     kClaims},
    {"device-differs", kError, "selectors do not match the devices", kClaims},
    {"device-tainted", kError, "devices have a taint that the request does not tolerate", kClaims},
    {"device-in-use", kError, "other claims have the devices", kClaims},
    {"device-capacity-short", kError, "the devices have too little capacity left", kClaims},
    {"device-counter-short", kError, "other devices use the counters that the devices need",
     kClaims},
    {"device-constraint", kError, "the devices cannot be allocated together", kClaims},
    {"device-too-few", kError, "the node has fewer devices than requested", kClaims},
    {"device-fits", kInfo, "the scheduler can allocate these devices", kClaims},
});

}  // namespace

std::span<const report::Kind> ReasonKinds() {
  return kKinds;
}

report::Finding Found(std::string_view id, std::string evidence,
                      std::vector<std::string> commands) {
  const auto* const found = std::ranges::find(kKinds, id, &report::Kind::id);
  const report::Kind& kind = found == kKinds.end() ? kKinds.front() : *found;
  return {.id = std::string(id),
          .severity = kind.severity,
          .message = std::string(kind.title),
          .evidence = {std::move(evidence)},
          .fix = {.commands = std::move(commands)}};
}

std::string ReasonsMarkdown() {
  return report::KindsMarkdown(kKinds, "About");
}

}  // namespace kgpu::explain
