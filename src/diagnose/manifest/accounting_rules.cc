// Ways to a GPU past the count that the scheduler keeps.
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/diagnose/manifest/containers.h"
#include "src/diagnose/manifest/rules.h"
#include "src/platform/base/strings.h"

namespace kgpu::manifest {
namespace {

namespace json = boost::json;

constexpr std::string_view kVisible = "NVIDIA_VISIBLE_DEVICES";

// The words that kubectl reads as true: it follows an older YAML than we do.
bool IsYes(const json::value* value) {
  constexpr std::array<std::string_view, 8> kYes = {"y",   "Y",  "yes", "Yes",
                                                    "YES", "on", "On",  "ON"};
  if (value == nullptr || !value->is_string()) {
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  return std::ranges::find(kYes, View(value->get_string())) != kYes.end();
}

void CheckVisibleDevices(const Container& container, Matches& matches) {
  const bool has_gpu = AsksForGpus(*container.value);
  for (const Container& variable : ItemsOf(container.value, container.path, "env")) {
    const std::string_view value = TextOf(variable.value, "value");
    if (TextOf(variable.value, "name") != kVisible || value == "void" || value == "none") {
      continue;
    }
    Match match;
    match.finding.id = "visible-devices-set";
    match.finding.severity = Severity::kWarning;
    match.path = variable.path;
    match.value = Printable(value, 120);
    match.finding.message = has_gpu ? "the node sets it to the allocated GPUs: setting it here "
                                      "selects other or all GPUs if the runtime obeys it"
                                    : "it selects GPUs without allocation, so two pods may share "
                                      "them unknowingly, if the runtime obeys it";
    match.advice = has_gpu ? "remove it" : "remove it, and request nvidia.com/gpu in limits";
    if (has_gpu) {
      match.changes.push_back({Change::Kind::kRemove, variable.path, {}, ""});
    }
    matches.push_back(std::move(match));
  }
}

void CheckPrivileged(const Container& container, Matches& matches) {
  const json::value* privileged =
      FieldOf(FieldOf(container.value, "securityContext"), "privileged");
  if (!IsYes(privileged) || !AsksForGpus(*container.value)) {
    return;
  }
  Match match;
  match.finding.id = "gpu-privileged";
  match.finding.severity = Severity::kWarning;
  match.path = container.path.Key("securityContext").Key("privileged");
  match.value = "true";
  match.finding.message =
      "it can access all GPUs of the node, not only the requested ones, and does not need to";
  match.advice =
      "remove it, or add the required capability: securityContext: {capabilities: {add: […]}}";
  matches.push_back(std::move(match));
}

void CheckRuntimeClass(const PodSpec& pod, Matches& matches) {
  const std::string_view name = TextOf(pod.spec, "runtimeClassName");
  if (!name.starts_with("nvidia") || AsksForGpus(pod)) {
    return;
  }
  Match match;
  match.finding.id = "runtime-class-without-gpu";
  match.finding.severity = Severity::kWarning;
  match.path = pod.path.Key("runtimeClassName");
  match.value = Printable(name, 80);
  match.finding.message = "the runtime alone provides unallocated GPUs, or none";
  match.advice = "request nvidia.com/gpu in limits; a CDI node needs no runtime class";
  matches.push_back(std::move(match));
}

}  // namespace

void CheckAccounting(const PodSpec& pod, Matches& matches) {
  for (const Container& container : ContainersOf(pod)) {
    CheckVisibleDevices(container, matches);
    CheckPrivileged(container, matches);
  }
  CheckRuntimeClass(pod, matches);
}

}  // namespace kgpu::manifest
