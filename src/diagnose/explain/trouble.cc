// Failures between the scheduler's choice and a running program: of the kubelet, the container
// engine, the image, the program itself. Recognized by the messages of kubelet and engines.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include <fmt/format.h>

#include "src/diagnose/explain/judge.h"
#include "src/platform/base/shell.h"
#include "src/platform/base/strings.h"

namespace kgpu::explain {
namespace {

// A text in a message that identifies a reason; the first match counts.
struct Sign {
  std::string_view text;
  std::string_view id;
};
constexpr std::array kSigns = {
    Sign{"unresolvable CDI devices", "cdi-device-unknown"},
    Sign{"CDI device injection failed", "cdi-device-unknown"},
    Sign{"no runtime for", "runtime-handler-unknown"},
    Sign{"failed to find runtime handler", "runtime-handler-unknown"},
    Sign{"runtime handler", "runtime-handler-unknown"},
    Sign{"maximum request size for shared", "shared-too-many"},
    Sign{"unsatisfied condition", "cuda-requirement"},
    Sign{"requirement error", "cuda-requirement"},
    Sign{"image needs cuda", "cuda-requirement"},
    Sign{"driver not loaded", "driver-not-loaded"},
    Sign{"driver rpc error", "driver-not-loaded"},
    Sign{"nvml error", "driver-not-loaded"},
    Sign{"driver/library version mismatch", "driver-not-loaded"},
    Sign{"libnvidia-ml.so.1", "driver-not-loaded"},
};

std::string_view IdOfTrouble(std::string_view message, std::string_view otherwise) {
  const std::string lower = ToLower(message);
  for (const Sign& sign : kSigns) {
    if (lower.find(ToLower(sign.text)) != std::string::npos) {
      return sign.id;
    }
  }
  return otherwise;
}

std::vector<std::string> FixOfTrouble(std::string_view id, const Pod& pod) {
  const std::string which = fmt::format("-n {} {}", ShellWord(pod.space), ShellWord(pod.name));
  const std::string describe = fmt::format("kubectl describe pod {}", which);
  const std::string again =
      fmt::format("kubectl delete pod {}   # {}", which,
                  pod.owner.empty() ? "and recreate it: such a pod is not retried"
                                    : fmt::format("{} creates another one", pod.owner));
  if (id == "cdi-device-unknown") {
    return {"kgpu cdi list   # on the node: shows the available names",
            "kgpu cdi generate   # if no agent maintains the file",
            "kgpu runtime check   # shows whether the engine supports CDI, and its folders"};
  }
  if (id == "runtime-handler-unknown") {
    return {"kgpu runtime status   # on the node", "kgpu runtime configure --restart"};
  }
  if (id == "cuda-requirement") {
    return {"kgpu doctor require 'cuda>=12.4'   # on the node, with the values of the message",
            "# use an image for an older CUDA version, a node with a newer driver, or update the "
            "driver"};
  }
  if (id == "driver-not-loaded") {
    return {"kgpu doctor   # on the node", "kgpu health"};
  }
  if (id == "admission-refused" || id == "kubelet-out-of-resource") {
    return {again, "kgpu status   # on the node: whether the plugin is registered",
            "kgpu health   # whether a device is missing"};
  }
  if (id == "shared-too-many") {
    return {"# request 1: more slots of a shared GPU do not increase its share", again};
  }
  if (id == "topology-refused") {
    return {
        "# the kubelet's topologyManagerPolicy requires the pod's CPUs, memory and GPUs on one "
        "NUMA node: best-effort does not",
        "# or request at most the GPUs and CPUs of one NUMA node",
        "kgpu devices --output json | jq '.gpus[] | {index, numaNode}'   # on the node", again};
  }
  if (id == "kubelet-refused") {
    return {describe, again};
  }
  if (id == "claim-not-prepared") {
    return {describe, "kubectl get resourceslices", "# see the log of the DRA driver's pod"};
  }
  if (id == "container-ended") {
    return {fmt::format("kubectl logs {} --all-containers --previous", which)};
  }
  if (id == "gpu-unhealthy") {
    return {"kgpu health history   # on the node", describe};
  }
  return {describe};
}

void Add(const Case& c, std::string_view id, std::string evidence, Reasons& out) {
  const bool is_reported = std::ranges::any_of(out, [&](const report::Finding& reason) {
    return reason.id == id && reason.evidence.front() == evidence;
  });
  if (!is_reported) {
    out.push_back(Found(id, std::move(evidence), FixOfTrouble(id, c.pod)));
  }
}

void Whole(const Case& c, Reasons& out) {
  const Pod& pod = c.pod;
  if (pod.phase != "Failed" || pod.reason.empty()) {
    return;
  }
  std::string_view id = "kubelet-refused";
  if (pod.reason == "UnexpectedAdmissionError") {
    id = IdOfTrouble(pod.message, "admission-refused");
  } else if (pod.reason == "TopologyAffinityError") {
    id = "topology-refused";
  } else if (pod.reason.starts_with("OutOf")) {
    id = "kubelet-out-of-resource";
  }
  Add(c, id, fmt::format("{}: {}", pod.reason, pod.message), out);
}

bool IsOneOf(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 6> kImage = {"ErrImagePull",      "ImagePullBackOff",
                                                    "InvalidImageName",  "ErrImageNeverPull",
                                                    "ImageInspectError", "RegistryUnavailable"};
constexpr std::array<std::string_view, 7> kCreate = {
    "CreateContainerError", "CreateContainerConfigError", "RunContainerError", "StartError",
    "ContainerCannotRun",   "CreatePodSandboxError",      "PreStartHookError"};

// Why a container that ended did, for people.
std::string EndText(std::string_view reason, std::string_view message,
                    const std::optional<int64_t>& code) {
  return fmt::format("{}{}{}", reason.empty() ? "ended" : reason,
                     code ? fmt::format(" with exit code {}", *code) : "",
                     message.empty() ? "" : fmt::format(": {}", Trim(message)));
}

void Ended(const Case& c, const ContainerStatus& status, Reasons& out) {
  const bool is_crash = status.reason == "CrashLoopBackOff" || status.restarts > 0;
  const std::string& reason = status.exit_code ? status.reason : status.last_reason;
  const std::string& message = status.exit_code ? status.message : status.last_message;
  const std::optional<int64_t>& code = status.exit_code ? status.exit_code : status.last_exit_code;
  if (status.is_running || !code || *code == 0 ||
      (!is_crash && c.pod.phase != "Failed" && !status.exit_code)) {
    return;
  }
  const std::string_view id =
      IdOfTrouble(message, IsOneOf(reason, kCreate) ? "container-not-created" : "container-ended");
  Add(c, id,
      fmt::format("container {}: {}{}", status.name, EndText(reason, message, code),
                  status.restarts > 0 ? fmt::format(", {} restarts", status.restarts) : ""),
      out);
}

void Statuses(const Case& c, Reasons& out) {
  for (const ContainerStatus& status : c.pod.statuses) {
    const std::string text =
        fmt::format("container {}: {}: {}", status.name, status.reason, Trim(status.message));
    if (status.is_running) {
      continue;
    }
    if (IsOneOf(status.reason, kImage)) {
      Add(c, "image-pull", text, out);
    } else if (IsOneOf(status.reason, kCreate)) {
      Add(c, IdOfTrouble(status.message, "container-not-created"), text, out);
    } else {
      Ended(c, status, out);
    }
  }
}

bool IsStarted(const Pod& pod) {
  return !pod.statuses.empty() &&
         std::ranges::all_of(pod.statuses, [](const ContainerStatus& status) {
           return status.is_running || status.exit_code == 0;
         });
}

void Events(const Case& c, Reasons& out) {
  struct Reported {
    std::string_view reason;
    std::string_view id;
  };
  constexpr std::array kReported = {
      Reported{"FailedCreatePodSandBox", "container-not-created"},
      Reported{"FailedPrepareDynamicResources", "claim-not-prepared"},
      Reported{"UnexpectedAdmissionError", "admission-refused"},
  };
  for (const Reported& reported : kReported) {
    const Event* event = LastEvent(c, {reported.reason});
    // What an event reports may be over by now.
    if (event != nullptr && !IsStarted(c.pod) && c.pod.phase != "Failed") {
      Add(c, IdOfTrouble(event->message, reported.id),
          fmt::format("{}: {}", event->reason, event->message), out);
    }
  }
  if (const Event* event =
          LastEvent(c, {"GPUUnhealthy", "GPUWarning", "GPUProgramError", "GPURecovered"});
      event != nullptr && event->reason != "GPURecovered") {
    Add(c, "gpu-unhealthy", fmt::format("{}: {}", event->reason, event->message), out);
  }
}

// The node's condition names the devices that are unhealthy now.
void UnhealthyDevices(const Case& c, Reasons& out) {
  for (const Node& node : c.facts.nodes) {
    const Condition* healthy = FindCondition(node.conditions, "GPUHealthy");
    if (node.name != c.pod.node || healthy == nullptr || healthy->status != "False") {
      continue;
    }
    for (const HeldDevice& device : c.facts.held) {
      const std::string uuid = device.id.substr(0, device.id.find("::"));
      if (!uuid.empty() && healthy->message.find(uuid) != std::string::npos) {
        Add(c, "gpu-unhealthy", TextOf(*healthy), out);
      }
    }
  }
}

}  // namespace

Reasons TroubleReasons(const Case& c) {
  Reasons out;
  Whole(c, out);
  Statuses(c, out);
  Events(c, out);
  UnhealthyDevices(c, out);
  return out;
}

}  // namespace kgpu::explain
