#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "src/diagnose/explain/reason.h"

namespace kgpu::explain {
namespace {

using enum About;

constexpr std::array kKinds = {
    // Why a node does not fit.
    ReasonKind{"node-not-ready", kNode, true,
               "the kubelet of the node does not say that it is well"},
    ReasonKind{"node-cordoned", kNode, true, "the node takes no new pods"},
    ReasonKind{"node-pressure", kNode, true, "disk, memory or processes of the node run short"},
    ReasonKind{"gpu-gate-closed", kNode, true,
               "kgpu has not verified that the node can give GPUs to pods"},
    ReasonKind{"taint-not-tolerated", kNode, true,
               "the node has a taint that the pod does not tolerate"},
    ReasonKind{"selector-differs", kNode, true, "the node lacks a label of spec.nodeSelector"},
    ReasonKind{"affinity-differs", kNode, true, "no term of the required node affinity matches"},
    ReasonKind{"plugin-not-registered", kNode, true,
               "the node has GPUs, and its kubelet knows of none that can be given out"},
    ReasonKind{"resource-other", kNode, true, "the node offers its GPUs under another name"},
    ReasonKind{"resource-not-offered", kNode, true, "the node does not offer the resource"},
    ReasonKind{"gpu-too-few", kNode, true, "the pod asks for more than the node has"},
    ReasonKind{"gpu-withheld", kNode, true, "GPUs of the node are sick and not given out"},
    ReasonKind{"gpu-in-use", kNode, true, "other pods have the GPUs"},
    ReasonKind{"claim-elsewhere", kNode, true,
               "a resource claim of the pod is allocated to devices of other nodes"},
    ReasonKind{"claim-no-device", kNode, true,
               "the node has no free device of the driver that a claim asks for"},
    ReasonKind{"host-resources-short", kNode, true,
               "CPU, memory or room for pods is not left on the node"},
    ReasonKind{"driver-too-old", kNode, false,
               "the node's driver does not run the CUDA that a container requires"},
    // What is the pod's own.
    ReasonKind{"pod-absent", kPod, true, "there is no such pod"},
    ReasonKind{"quota-exceeded", kPod, true, "a ResourceQuota of the namespace forbids it"},
    ReasonKind{"limit-range", kPod, true, "a LimitRange of the namespace forbids it"},
    ReasonKind{"runtime-class-missing", kPod, true, "there is no such RuntimeClass"},
    ReasonKind{"priority-class-missing", kPod, true, "there is no such PriorityClass"},
    ReasonKind{"create-refused", kPod, true, "the API server refused to create the pod"},
    ReasonKind{"scheduling-gated", kPod, true, "the pod has scheduling gates"},
    ReasonKind{"no-gpu-asked", kPod, true, "no container asks for a GPU"},
    ReasonKind{"quantity-wrong", kPod, true, "an amount is no quantity"},
    ReasonKind{"resource-fraction", kPod, true, "devices are asked for in parts"},
    ReasonKind{"requests-limits-differ", kPod, true, "requests and limits of a device differ"},
    ReasonKind{"resource-unknown", kPod, true, "no node offers the resource"},
    ReasonKind{"resource-too-many", kPod, true, "no node has so many"},
    ReasonKind{"selector-matches-no-node", kPod, true,
               "no node has the label that the pod asks for"},
    ReasonKind{"claim-missing", kPod, true,
               "a resource claim, its template or its class is not there"},
    ReasonKind{"claim-pending", kPod, false, "a resource claim is not allocated yet"},
    ReasonKind{"preempting", kPod, false, "the scheduler is making room for the pod"},
    ReasonKind{"preemption-possible", kPod, false, "pods of lower priority hold enough"},
    ReasonKind{"scheduler-other", kPod, false, "another scheduler is to place the pod"},
    ReasonKind{"scheduler-silent", kPod, false, "no scheduler has looked at the pod"},
    ReasonKind{"scheduler-says", kPod, false, "what the scheduler says"},
    ReasonKind{"pod-ending", kPod, false, "the pod is being deleted"},
    // What goes wrong behind the scheduler.
    ReasonKind{"admission-refused", kPod, true, "the kubelet could not give the pod its devices"},
    ReasonKind{"shared-too-many", kPod, true,
               "the device plugin gives a pod one slot of a shared GPU"},
    ReasonKind{"kubelet-out-of-resource", kPod, true,
               "the kubelet had fewer devices left than the scheduler believed"},
    ReasonKind{"topology-refused", kPod, true,
               "the node's GPUs, CPUs and memory for the pod do not lie together"},
    ReasonKind{"kubelet-refused", kPod, true, "the kubelet refused or ended the pod"},
    ReasonKind{"cdi-device-unknown", kPod, true, "the runtime does not know the CDI device"},
    ReasonKind{"runtime-handler-unknown", kPod, true,
               "the container engine does not know the runtime of the RuntimeClass"},
    ReasonKind{"cuda-requirement", kPod, true, "the image requires another CUDA, driver or GPU"},
    ReasonKind{"driver-not-loaded", kPod, true,
               "the driver did not answer when the container started"},
    ReasonKind{"claim-not-prepared", kPod, true, "the DRA driver could not prepare a claim"},
    ReasonKind{"image-pull", kPod, true, "an image can not be had"},
    ReasonKind{"container-not-created", kPod, true, "a container can not be created or started"},
    ReasonKind{"container-ended", kPod, true, "a container keeps ending"},
    ReasonKind{"gpu-sick", kPod, false,
               "a GPU of the pod is or was sick, or its program failed on it"},
};

}  // namespace

std::string_view ToString(About about) {
  return about == About::kNode ? "node" : "pod";
}

std::span<const ReasonKind> ReasonKinds() {
  return kKinds;
}

const ReasonKind& KindOf(std::string_view id) {
  const auto* const found = std::ranges::find(kKinds, id, &ReasonKind::id);
  return found == kKinds.end() ? kKinds.front() : *found;
}

bool HasBlocking(const std::vector<Reason>& reasons) {
  return std::ranges::any_of(reasons, &Reason::is_blocking);
}

std::string ReasonsMarkdown() {
  std::string text = "| Reason | About | Blocks | When |\n|---|---|---|---|\n";
  for (const ReasonKind& kind : kKinds) {
    text += fmt::format("| `{}` | {} | {} | {} |\n", kind.id, ToString(kind.about),
                        kind.is_blocking ? "yes" : "no", kind.title);
  }
  return text;
}

}  // namespace kgpu::explain
