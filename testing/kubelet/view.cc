#include "testing/kubelet/view.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>

#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "testing/kubelet/json_fields.h"
#include "testing/kubelet/pod_json.h"
#include "testing/kubelet/pod_store.h"
#include "testing/simhost/columns.h"

namespace kgpu::kubelet {
namespace {

namespace json = boost::json;
using Rows = std::vector<std::vector<std::string>>;

std::string StateText(const ContainerStatus& container) {
  std::string text = NameOf(container.state);
  if (!container.reason.empty()) {
    text += fmt::format(" ({})", container.reason);
  } else if (container.state == ContainerState::kTerminated && container.exit_code) {
    text += fmt::format(" (exit code {})", *container.exit_code);
  }
  return container.restarts == 0 ? text
                                 : fmt::format("{}, {} restart{}", text, container.restarts,
                                               container.restarts == 1 ? "" : "s");
}

// For a column; --output json has all of it.
std::string Shortened(const std::string& text) {
  constexpr size_t kMost = 72;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

std::string DevicesText(const IdsByResource& devices) {
  std::string text;
  for (const auto& [resource, ids] : devices) {
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", resource,
                   fmt::join(ids, ","));
  }
  return text.empty() ? "-" : text;
}

void AddOptions(const ContainerOptions& options, std::vector<std::string>& lines) {
  for (const auto& [name, value] : options.envs) {
    lines.push_back(fmt::format("env {}={}", name, value));
  }
  for (const BindMount& mount : options.mounts) {
    lines.push_back(fmt::format("mount {} from {}{}", mount.container_path, mount.host_path,
                                mount.read_only ? ", read-only" : ""));
  }
  for (const DeviceSpec& device : options.devices) {
    lines.push_back(fmt::format("device {} from {}, {}", device.container_path, device.host_path,
                                device.permissions));
  }
  for (const auto& [key, value] : options.annotations) {
    lines.push_back(fmt::format("annotation {}={}", key, value));
  }
  for (const std::string& name : options.cdi_devices) {
    lines.push_back(fmt::format("CDI device {}", name));
  }
}

std::string ContainerText(const ContainerStatus& container) {
  std::vector<std::string> lines;
  for (const auto& [resource, ids] : container.devices) {
    lines.push_back(fmt::format("{}: {}", resource, fmt::join(ids, " ")));
  }
  for (const ResourceHealth& health : container.health) {
    if (health.health != kHealthy) {
      lines.push_back(fmt::format("{} is {}", health.id, health.health));
    }
  }
  AddOptions(container.options, lines);
  if (!container.message.empty()) {
    lines.push_back(container.message);
  }
  std::string text =
      fmt::format("  {} {}: {}", NameOf(container.kind), container.name, StateText(container));
  for (const std::string& line : lines) {
    fmt::format_to(std::back_inserter(text), "\n    {}", line);
  }
  return text;
}

std::string PhaseText(const Pod& pod) {
  std::string text = NameOf(pod.status.phase);
  if (!pod.status.reason.empty()) {
    text += fmt::format(" ({})", pod.status.reason);
  }
  return pod.is_terminating ? text + ", terminating" : text;
}

std::string Trimmed(std::string text) {
  while (text.ends_with('\n')) {
    text.pop_back();
  }
  return text;
}

Status ReadEndpoint(const JsonFields& endpoint, std::map<std::string, std::string>& plugins) {
  std::string resource;
  bool is_connected = false;
  RETURN_IF_ERROR(endpoint.Require("resource", resource));
  RETURN_IF_ERROR(endpoint.Require("connected", is_connected));
  plugins[resource] = is_connected ? "connected" : "stopped";
  return OkStatus();
}

Status AddResource(const std::string& name, const JsonFields& amount,
                   const std::map<std::string, std::string>& plugins, Rows& rows) {
  int64_t capacity = 0;
  int64_t allocatable = 0;
  RETURN_IF_ERROR(amount.Require("capacity", capacity));
  RETURN_IF_ERROR(amount.Require("allocatable", allocatable));
  const auto plugin = plugins.find(name);
  rows.push_back({name, std::to_string(capacity), std::to_string(allocatable),
                  plugin == plugins.end() ? "-" : plugin->second});
  return OkStatus();
}

StatusOr<std::string> ResourcesText(const JsonFields& status) {
  Rows rows = {{"RESOURCE", "CAPACITY", "ALLOCATABLE", "PLUGIN"}};
  std::map<std::string, std::string> plugins;
  ASSIGN_OR_RETURN(const JsonFields endpoints, status.Field("endpoints"));
  RETURN_IF_ERROR(endpoints.ForEachItem(
      [&plugins](const JsonFields& endpoint) { return ReadEndpoint(endpoint, plugins); }));
  ASSIGN_OR_RETURN(const JsonFields resources, status.Field("resources"));
  RETURN_IF_ERROR(resources.ForEachField([&](const std::string& name, const JsonFields& amount) {
    return AddResource(name, amount, plugins, rows);
  }));
  return rows.size() == 1 ? std::string("no resources: no plugin has registered\n")
                          : simhost::Columns(rows);
}

StatusOr<std::string> PodsText(const JsonFields& status) {
  Rows rows = {{"POD", "PHASE", "CONTAINER", "STATE", "DEVICES"}};
  ASSIGN_OR_RETURN(const JsonFields pods, status.Field("pods"));
  RETURN_IF_ERROR(pods.ForEachItem([&rows](const JsonFields& item) -> Status {
    ASSIGN_OR_RETURN(const Pod pod, PodFromJson(item.value(), item.where()));
    std::string name = PodKey(pod.spec.name_space, pod.spec.name);
    std::string phase = PhaseText(pod);
    for (const ContainerStatus& container : pod.status.containers) {
      rows.push_back({std::exchange(name, ""), std::exchange(phase, ""), container.name,
                      StateText(container), DevicesText(container.devices)});
    }
    return OkStatus();
  }));
  return rows.size() == 1 ? std::string("no pods\n") : simhost::Columns(rows);
}

Status AddFault(const JsonFields& fault, std::string& text) {
  std::string point;
  std::string kind;
  RETURN_IF_ERROR(fault.Require("point", point));
  RETURN_IF_ERROR(fault.Require("kind", kind));
  fmt::format_to(std::back_inserter(text), "fault: {} {}\n", point, kind);
  return OkStatus();
}

Status AddCall(const JsonFields& call, Rows& rows) {
  double time = 0;
  double milliseconds = 0;
  std::string method;
  std::string peer;
  std::string arguments;
  std::optional<std::string> reply;
  RETURN_IF_ERROR(call.Require("time", time));
  RETURN_IF_ERROR(call.Require("milliseconds", milliseconds));
  RETURN_IF_ERROR(call.Require("method", method));
  RETURN_IF_ERROR(call.Require("peer", peer));
  RETURN_IF_ERROR(call.Require("arguments", arguments));
  RETURN_IF_ERROR(call.Require("reply", reply));
  const auto whole = static_cast<time_t>(time);
  const auto thousandths = static_cast<int>((time - std::floor(time)) * 1000);
  rows.push_back({fmt::format("{:%H:%M:%S}.{:03}", fmt::localtime(whole), thousandths),
                  fmt::format("{:.1f}", milliseconds), method, Shortened(peer),
                  Shortened(arguments), Shortened(reply.value_or("..."))});
  return OkStatus();
}

}  // namespace

StatusOr<std::string> PodText(const json::value& value) {
  ASSIGN_OR_RETURN(const Pod pod, PodFromJson(value, "pod"));
  std::string text =
      fmt::format("{}: {}", PodKey(pod.spec.name_space, pod.spec.name), PhaseText(pod));
  if (!pod.status.message.empty()) {
    fmt::format_to(std::back_inserter(text), "\n  {}", pod.status.message);
  }
  for (const ContainerStatus& container : pod.status.containers) {
    fmt::format_to(std::back_inserter(text), "\n{}", ContainerText(container));
  }
  return text;
}

StatusOr<std::string> StatusText(const json::value& value) {
  const JsonFields status(value, "status");
  std::string root;
  bool is_running = false;
  RETURN_IF_ERROR(status.Require("root", root));
  RETURN_IF_ERROR(status.Require("running", is_running));
  std::string text = fmt::format("{}: the kubelet {}\n", root, is_running ? "runs" : "is stopped");
  ASSIGN_OR_RETURN(const JsonFields faults, status.Field("faults"));
  RETURN_IF_ERROR(
      faults.ForEachItem([&text](const JsonFields& fault) { return AddFault(fault, text); }));
  ASSIGN_OR_RETURN(const std::string resources, ResourcesText(status));
  ASSIGN_OR_RETURN(const std::string pods, PodsText(status));
  return Trimmed(fmt::format("{}\n{}\n{}", text, resources, pods));
}

StatusOr<std::string> CallsText(const json::value& value) {
  Rows rows = {{"TIME", "MS", "CALL", "OF", "ARGUMENTS", "ANSWER"}};
  const JsonFields calls(value, "calls");
  RETURN_IF_ERROR(
      calls.ForEachItem([&rows](const JsonFields& call) { return AddCall(call, rows); }));
  return rows.size() == 1 ? std::string("no calls yet") : Trimmed(simhost::Columns(rows));
}

}  // namespace kgpu::kubelet
