#include "src/functions/kubernetes/pod.h"

#include <fmt/format.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "src/functions/kubernetes/trim.h"
#include "src/functions/manifests/objects.h"
#include "src/kube/api/json.h"
#include "src/platform/base/strings.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

constexpr size_t kMaxProblem = 500;

bool HasPodCondition(const json::value& pod, std::string_view type) {
  const json::value* condition = FindCondition(pod, type);
  return condition != nullptr && kube::TextField(*condition, {"status"}) == "True";
}

// NVIDIA's resources are "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", …
int64_t GpusOf(const json::value& pod) {
  const json::value* containers = kube::FindField(pod, {"spec", "containers"});
  int64_t gpus = 0;
  if (containers == nullptr || !containers->is_array()) {
    return gpus;
  }
  for (const json::value& container : containers->get_array()) {
    const json::value* limits = kube::FindField(container, {"resources", "limits"});
    if (limits == nullptr || !limits->is_object()) {
      continue;
    }
    for (const auto& [name, amount] : limits->get_object()) {
      if (name.starts_with("nvidia.com/") && amount.is_string()) {
        const json::string& digits = amount.get_string();
        gpus += static_cast<int64_t>(ParseUint({digits.data(), digits.size()}).value_or(0));
      }
    }
  }
  return gpus;
}

// Reasons for which a container waits in the ordinary course of its start.
bool IsOrdinary(std::string_view reason) {
  static constexpr std::array<std::string_view, 3> kOrdinary = {"", "ContainerCreating",
                                                                "PodInitializing"};
  return std::ranges::find(kOrdinary, reason) != kOrdinary.end();
}

std::string ProblemOfContainer(const json::value& status) {
  const std::string_view reason = kube::TextField(status, {"state", "waiting", "reason"});
  if (IsOrdinary(reason)) {
    return "";
  }
  std::string text(reason);
  if (const std::string_view message = kube::TextField(status, {"state", "waiting", "message"});
      !message.empty()) {
    text += fmt::format(": {}", message);
  }
  if (const auto code = kube::IntField(status, {"lastState", "terminated", "exitCode"})) {
    text += fmt::format(" (it ended with exit code {}: {})", *code,
                        kube::TextField(status, {"lastState", "terminated", "reason"}));
  }
  return text;
}

std::string ProblemOf(const json::value& pod) {
  if (kube::TextField(pod, {"status", "phase"}) == "Failed") {
    return fmt::format("{}: {}", kube::TextField(pod, {"status", "reason"}),
                       kube::TextField(pod, {"status", "message"}));
  }
  // The scheduler's last word remains for a moment after it has found a node.
  if (const json::value* scheduled = FindCondition(pod, "PodScheduled");
      kube::TextField(pod, {"spec", "nodeName"}).empty() && scheduled != nullptr &&
      kube::TextField(*scheduled, {"status"}) == "False") {
    return std::string(kube::TextField(*scheduled, {"message"}));
  }
  const json::value* statuses = kube::FindField(pod, {"status", "containerStatuses"});
  if (statuses != nullptr && statuses->is_array()) {
    for (const json::value& status : statuses->get_array()) {
      if (std::string problem = ProblemOfContainer(status); !problem.empty()) {
        return problem;
      }
    }
  }
  return "";
}

void TrimContainers(json::object& spec) {
  json::value* containers = spec.if_contains("containers");
  if (containers == nullptr || !containers->is_array()) {
    return;
  }
  for (json::value& container : containers->get_array()) {
    if (json::object* fields = container.if_object()) {
      KeepOnly(*fields, {"name", "resources"});
    }
  }
}

}  // namespace

PodFacts PodFactsOf(const json::value& pod) {
  const std::string_view phase = kube::TextField(pod, {"status", "phase"});
  const json::value* scheduled = FindCondition(pod, "PodScheduled");
  PodFacts facts{
      .name = std::string(kube::NameOf(pod)),
      .function = std::string(kube::TextField(pod, {"metadata", "labels", kFunctionNameLabel})),
      .ip = std::string(kube::TextField(pod, {"status", "podIP"})),
      .gpus = GpusOf(pod),
      .has_node = !kube::TextField(pod, {"spec", "nodeName"}).empty(),
      .is_unschedulable =
          scheduled != nullptr && kube::TextField(*scheduled, {"reason"}) == "Unschedulable",
      .is_ready = HasPodCondition(pod, "Ready"),
      .is_ending = !kube::TextField(pod, {"metadata", "deletionTimestamp"}).empty(),
      .is_over = phase == "Succeeded" || phase == "Failed",
      .problem = Printable(ProblemOf(pod), kMaxProblem)};
  if (const json::object* object = pod.if_object()) {
    facts.template_hash = PodTemplateHashOf(*object);
  }
  return facts;
}

void TrimPod(json::value& pod) {
  if (json::object* fields = pod.if_object()) {
    KeepOnly(*fields, {"metadata", "spec", "status"});
  }
  if (json::object* metadata = ObjectBelow(pod, {"metadata"})) {
    KeepOnly(*metadata, {"name", "namespace", "uid", "resourceVersion", "labels", "annotations",
                         "deletionTimestamp"});
  }
  if (json::object* spec = ObjectBelow(pod, {"spec"})) {
    KeepOnly(*spec, {"nodeName", "containers"});
    TrimContainers(*spec);
  }
  if (json::object* status = ObjectBelow(pod, {"status"})) {
    KeepOnly(*status, {"phase", "reason", "message", "podIP", "conditions", "containerStatuses"});
  }
}

}  // namespace kgpu::functions
