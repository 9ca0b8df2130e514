// What goes wrong between the scheduler's choice and a program that runs: the kubelet, the
// container engine, the image, the program itself. Told by the texts of kubelet and engines.
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

using Reasons = std::vector<Reason>;

// A text in a message tells which reason it is; the first that is found counts.
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

std::vector<std::string> MendOfTrouble(std::string_view id, const Pod& pod) {
  const std::string which = fmt::format("-n {} {}", ShellWord(pod.space), ShellWord(pod.name));
  const std::string describe = fmt::format("kubectl describe pod {}", which);
  const std::string anew =
      fmt::format("kubectl delete pod {}   # {}", which,
                  pod.owner.empty() ? "and create it anew: such a pod is not tried again"
                                    : fmt::format("{} makes another", pod.owner));
  if (id == "cdi-device-unknown") {
    return {"kgpu cdi list   # on the node: which names there are",
            "kgpu cdi generate   # where no agent keeps the file",
            "kgpu runtime check   # whether the engine reads CDI, and from which folders"};
  }
  if (id == "runtime-handler-unknown") {
    return {"kgpu runtime status   # on the node", "kgpu runtime configure --restart"};
  }
  if (id == "cuda-requirement") {
    return {"kgpu require 'cuda>=12.4'   # on the node, with what the message names",
            "# take an image for an older CUDA, a node with a newer driver, or update the driver"};
  }
  if (id == "driver-not-loaded") {
    return {"kgpu doctor   # on the node", "kgpu health"};
  }
  if (id == "admission-refused" || id == "kubelet-out-of-resource") {
    return {anew, "kgpu status   # on the node: whether the plugin is registered",
            "kgpu health   # whether a device has gone"};
  }
  if (id == "shared-too-many") {
    return {"# ask for 1: more slots of a shared GPU give no more of it", anew};
  }
  if (id == "topology-refused") {
    return {
        "# the kubelet's topologyManagerPolicy keeps the pod's CPUs, memory and GPUs together: "
        "best-effort places it all the same",
        "# or ask for no more GPUs and CPUs than one NUMA node has",
        "kgpu devices --output json | jq '.gpus[] | {index, numaNode}'   # on the node", anew};
  }
  if (id == "kubelet-refused") {
    return {describe, anew};
  }
  if (id == "claim-not-prepared") {
    return {describe, "kubectl get resourceslices", "# look at the log of the DRA driver's pod"};
  }
  if (id == "container-ended") {
    return {fmt::format("kubectl logs {} --all-containers --previous", which)};
  }
  if (id == "gpu-sick") {
    return {"kgpu health history   # on the node", describe};
  }
  return {describe};
}

void Add(const Case& c, std::string_view id, std::string evidence, Reasons& out) {
  const bool is_told = std::ranges::any_of(
      out, [&](const Reason& reason) { return reason.id == id && reason.evidence == evidence; });
  if (!is_told) {
    out.push_back({id, std::move(evidence), MendOfTrouble(id, c.pod)});
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
  struct Told {
    std::string_view reason;
    std::string_view id;
  };
  constexpr std::array kTold = {
      Told{"FailedCreatePodSandBox", "container-not-created"},
      Told{"FailedPrepareDynamicResources", "claim-not-prepared"},
      Told{"UnexpectedAdmissionError", "admission-refused"},
  };
  for (const Told& told : kTold) {
    const Event* event = LastEvent(c, {told.reason});
    // What an event tells may be over by now.
    if (event != nullptr && !IsStarted(c.pod) && c.pod.phase != "Failed") {
      Add(c, IdOfTrouble(event->message, told.id),
          fmt::format("{}: {}", event->reason, event->message), out);
    }
  }
  if (const Event* event =
          LastEvent(c, {"GPUUnhealthy", "GPUWarning", "GPUProgramError", "GPURecovered"});
      event != nullptr && event->reason != "GPURecovered") {
    Add(c, "gpu-sick", fmt::format("{}: {}", event->reason, event->message), out);
  }
}

// The node's condition names the devices that are sick now.
void SickDevices(const Case& c, Reasons& out) {
  for (const Node& node : c.facts.nodes) {
    const Condition* healthy = FindCondition(node.conditions, "GPUHealthy");
    if (node.name != c.pod.node || healthy == nullptr || healthy->status != "False") {
      continue;
    }
    for (const HeldDevice& device : c.facts.held) {
      const std::string uuid = device.id.substr(0, device.id.find("::"));
      if (!uuid.empty() && healthy->message.find(uuid) != std::string::npos) {
        Add(c, "gpu-sick", TextOf(*healthy), out);
      }
    }
  }
}

}  // namespace

std::vector<Reason> TroubleReasons(const Case& c) {
  Reasons out;
  Whole(c, out);
  Statuses(c, out);
  Events(c, out);
  SickDevices(c, out);
  return out;
}

}  // namespace kgpu::explain
