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

// What kubectl reads as true, which follows an older YAML than we do.
bool IsYes(const json::value* value) {
  constexpr std::array<std::string_view, 8> kYes = {"y",   "Y",  "yes", "Yes",
                                                    "YES", "on", "On",  "ON"};
  if (value == nullptr || !value->is_string()) {
    return value != nullptr && value->is_bool() && value->get_bool();
  }
  return std::ranges::find(kYes, View(value->get_string())) != kYes.end();
}

void CheckVisibleDevices(const Container& container, Findings& findings) {
  const bool has_gpu = AsksForGpus(*container.value);
  for (const Container& variable : ItemsOf(container.value, container.path, "env")) {
    const std::string_view value = TextOf(variable.value, "value");
    if (TextOf(variable.value, "name") != kVisible || value == "void" || value == "none") {
      continue;
    }
    Finding finding;
    finding.id = "visible-devices-set";
    finding.severity = Severity::kWarning;
    finding.path = variable.path;
    finding.value = Printable(value, 120);
    finding.message = has_gpu ? "the node sets it to the GPUs that were given: set here it gives "
                                "others, or all, where the runtime obeys it"
                              : "it gives GPUs that nobody counts, so that two pods share them "
                                "unawares, where the runtime obeys it";
    finding.mend = has_gpu ? "leave it out" : "leave it out, ask for nvidia.com/gpu in limits";
    if (has_gpu) {
      finding.fix.push_back({Change::Kind::kRemove, variable.path, {}, ""});
    }
    findings.push_back(std::move(finding));
  }
}

void CheckPrivileged(const Container& container, Findings& findings) {
  const json::value* privileged =
      FieldOf(FieldOf(container.value, "securityContext"), "privileged");
  if (!IsYes(privileged) || !AsksForGpus(*container.value)) {
    return;
  }
  Finding finding;
  finding.id = "gpu-privileged";
  finding.severity = Severity::kWarning;
  finding.path = container.path.Key("securityContext").Key("privileged");
  finding.value = "true";
  finding.message = "it has every GPU of the node, not only those it asks for; none needs it";
  finding.mend =
      "leave it out, or add the capability that is needed: securityContext: "
      "{capabilities: {add: […]}}";
  findings.push_back(std::move(finding));
}

void CheckRuntimeClass(const PodSpec& pod, Findings& findings) {
  const std::string_view name = TextOf(pod.spec, "runtimeClassName");
  if (!name.starts_with("nvidia") || AsksForGpus(pod)) {
    return;
  }
  Finding finding;
  finding.id = "runtime-class-without-gpu";
  finding.severity = Severity::kWarning;
  finding.path = pod.path.Key("runtimeClassName");
  finding.value = Printable(name, 80);
  finding.message = "the runtime alone gives GPUs that nobody counts, or none";
  finding.mend = "ask for nvidia.com/gpu in limits; a CDI node needs no runtime class";
  findings.push_back(std::move(finding));
}

}  // namespace

void CheckAccounting(const PodSpec& pod, Findings& findings) {
  for (const Container& container : ContainersOf(pod)) {
    CheckVisibleDevices(container, findings);
    CheckPrivileged(container, findings);
  }
  CheckRuntimeClass(pod, findings);
}

}  // namespace kgpu::manifest
