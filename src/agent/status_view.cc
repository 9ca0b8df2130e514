#include "src/agent/status_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <set>
#include <utility>

#include "src/node/plugin/delivery.h"
#include "src/node/report/causes.h"
#include "src/node/report/table.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

size_t Healthy(const pools::Resource& resource) {
  return static_cast<size_t>(std::ranges::count_if(
      resource.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; }));
}

const plugin::EndpointStatus* EndpointOf(const AgentState& state, std::string_view resource) {
  const auto found =
      std::ranges::find(state.endpoints, resource, &plugin::EndpointStatus::resource);
  return found == state.endpoints.end() ? nullptr : &*found;
}

json::object DriverJson(const device::Driver& driver) {
  json::object object;
  object["state"] = std::string(device::ToString(driver.state));
  object["reason"] = driver.reason;
  object["version"] = driver.version;
  return object;
}

json::object ResourceJson(const AgentState& state, const pools::Resource& resource) {
  json::object object;
  object["name"] = resource.name;
  object["capacity"] = resource.slots.size();
  object["allocatable"] = Healthy(resource);
  if (const plugin::EndpointStatus* endpoint = EndpointOf(state, resource.name)) {
    object["state"] = std::string(plugin::ToString(endpoint->state));
    object["reason"] = endpoint->reason;
    object["socket"] = endpoint->socket;
    object["registrations"] = endpoint->registrations;
    object["allocations"] = endpoint->counts.allocations;
    object["refusedAllocations"] = endpoint->counts.failed_allocations;
  }
  json::array devices;
  for (const pools::Slot& slot : resource.slots) {
    devices.push_back(json::object{{"id", slot.id},
                                   {"device", slot.device_uuid},
                                   {"healthy", slot.health.is_healthy},
                                   {"reason", slot.health.reason},
                                   {"message", slot.health.message}});
  }
  object["devices"] = std::move(devices);
  return object;
}

void AddEndpoints(const AgentState& state, node::StatusPage& page) {
  for (const telemetry::MetricsEndpoint& endpoint : state.metrics_endpoints) {
    page.AddLine("metrics",
                 fmt::format("{}://{} (names: {}){}{}", endpoint.has_tls ? "https" : "http",
                             endpoint.address, telemetry::NamesOf(endpoint.names),
                             endpoint.problem.empty() ? "" : " failed: ", endpoint.problem));
  }
}

// The view of the cluster in short; `kgpu node status` has all of it.
void AddNode(const AgentState& state, node::StatusPage& page) {
  if (!state.node.node.empty()) {
    const std::string obstacle = node::Obstacle(state.node);
    page.AddLine("node",
                 fmt::format("{}: {}", state.node.node, obstacle.empty() ? "healthy" : obstacle));
  }
  if (!state.plugin_owner.empty()) {
    page.AddLine("GPUs", fmt::format("left to {}; to take over: kgpu node adopt --from plugin",
                                     state.plugin_owner));
  }
  for (const std::string& problem : state.label_problems) {
    page.AddLine("labels", problem);
  }
}

// Readiness is about pods that get GPUs; metrics that nobody can read do not keep them from that.
std::string Readiness(const AgentState& state, const node::StatusPage& parts) {
  std::string why;
  if (!IsReady(state, &why)) {
    return "not ready: " + why;
  }
  const bool has_metrics = std::ranges::all_of(
      state.metrics_endpoints,
      [](const telemetry::MetricsEndpoint& one) { return one.problem.empty(); });
  std::set<std::string> exceptions = parts.exceptions;
  if (!has_metrics) {
    exceptions.insert("metrics");
  }
  return exceptions.empty() ? "ready"
                            : fmt::format("ready, except for {}",
                                          Join({exceptions.begin(), exceptions.end()}, " and "));
}

void AddConfig(const AgentState& state, node::StatusPage& page) {
  const choice::Report& report = state.config_report;
  if (report.state == choice::State::kWaiting) {
    page.AddLine("config", fmt::format("waiting: {}", report.problem));
    return;
  }
  if (!state.config_problem.empty()) {
    page.AddLine("config", fmt::format("rejected: {}", state.config_problem));
  }
  if (report.is_chosen_by_node) {
    page.AddLine("config", fmt::format("{} ({})", choice::RunningText(report), report.why));
  } else if (state.config_problem.empty()) {
    page.AddLine("config", state.config_file.empty() ? "built in" : state.config_file);
  }
}

std::string HeadOf(const AgentState& state, const node::StatusPage& parts,
                   std::string_view version) {
  node::StatusPage page{.head = fmt::format("kgpu {}: {}\n", version, Readiness(state, parts))};
  if (state.snapshot) {
    const device::Driver& driver = state.snapshot->driver;
    page.AddLine("driver", fmt::format("{}{}{}, {} GPUs", device::ToString(driver.state),
                                       driver.version.empty() ? "" : " ", driver.version,
                                       state.snapshot->gpus.size()));
  }
  AddConfig(state, page);
  if (state.delivery) {
    page.AddLine("injection", fmt::format("{}: {}", plugin::ToString(state.delivery->strategies),
                                          state.delivery->reason));
  }
  page.AddLine("CDI", state.cdi_problem);
  page.AddLine("state", state.memory_problem);
  page.head += parts.head;
  for (const MissingPrivilege& missing : state.missing_privileges) {
    page.AddLine("privilege", ToString(missing));
  }
  AddEndpoints(state, page);
  AddNode(state, page);
  return std::move(page.head);
}

}  // namespace

json::value StatusJson(const AgentState& state, const node::StatusPage& parts,
                       std::string_view version) {
  std::string why;
  json::object object;
  object["ready"] = IsReady(state, &why);
  object["obstacle"] = why;
  object["version"] = std::string(version);
  object["startedAt"] = FormatTime(state.started);
  json::object config = choice::ReportJson(state.config_report).as_object();
  config["file"] = state.config_file;
  config["problem"] = state.config_problem;
  object["config"] = std::move(config);
  if (state.snapshot) {
    object["driver"] = DriverJson(state.snapshot->driver);
  }
  if (state.delivery) {
    object["delivery"] = json::object{{"by", plugin::ToString(state.delivery->strategies)},
                                      {"reason", state.delivery->reason}};
  }
  object["cdiProblem"] = state.cdi_problem;
  object["memoryProblem"] = state.memory_problem;
  json::array privileges;
  for (const MissingPrivilege& missing : state.missing_privileges) {
    privileges.push_back(
        json::object{{"what", missing.what}, {"effect", missing.effect}, {"fix", missing.fix}});
  }
  object["missingPrivileges"] = std::move(privileges);
  json::array endpoints;
  for (const telemetry::MetricsEndpoint& endpoint : state.metrics_endpoints) {
    endpoints.push_back(json::object{{"address", endpoint.address},
                                     {"names", telemetry::NamesOf(endpoint.names)},
                                     {"tls", endpoint.has_tls},
                                     {"problem", endpoint.problem}});
  }
  object["metrics"] = std::move(endpoints);
  object["node"] =
      json::object{{"name", state.node.node}, {"obstacle", node::Obstacle(state.node)}};
  object["pluginOwner"] = state.plugin_owner;
  object["labelProblems"] = doc::Texts(state.label_problems);
  json::array resources;
  for (const pools::Resource& resource : state.assignment.resources) {
    resources.push_back(ResourceJson(state, resource));
  }
  object["resources"] = std::move(resources);
  json::array unassigned;
  for (const pools::Unassigned& device : state.assignment.unassigned) {
    unassigned.push_back(json::object{{"device", device.device_uuid}, {"reason", device.reason}});
  }
  object["unassigned"] = std::move(unassigned);
  object["notes"] = doc::Texts(state.assignment.notes);
  object.insert(parts.fields.begin(), parts.fields.end());
  return object;
}

std::string StatusTable(const AgentState& state, const node::StatusPage& parts,
                        std::string_view version) {
  std::string text = HeadOf(state, parts, version);
  report::Table resources({"RESOURCE", "CAPACITY", "ALLOCATABLE", "KUBELET", "ALLOCATIONS"});
  std::string reasons;
  report::Causes causes{device::Driver()};
  if (std::string why; !IsReady(state, &why)) {
    (void)causes.IsNew(why);  // the first line says it
  }
  for (const pools::Resource& resource : state.assignment.resources) {
    const plugin::EndpointStatus* endpoint = EndpointOf(state, resource.name);
    resources.AddRow({resource.name, std::to_string(resource.slots.size()),
                      std::to_string(Healthy(resource)),
                      endpoint ? std::string(plugin::ToString(endpoint->state)) : "",
                      endpoint ? std::to_string(endpoint->counts.allocations) : ""});
    if (endpoint && !endpoint->reason.empty()) {
      reasons += fmt::format("{}: {}\n", resource.name, endpoint->reason);
    }
    std::string last;  // replicas of one device share its reason
    for (const pools::Slot& slot : resource.slots) {
      if (!slot.health.is_healthy && slot.device_uuid != last) {
        last = slot.device_uuid;
        reasons += fmt::format("{} {}: {}\n", slot.device_uuid, slot.health.reason,
                               causes.Next(slot.health.message));
      }
    }
  }
  if (!state.assignment.resources.empty()) {
    text += "\n" + resources.Render();
  }
  text += parts.tables;
  for (const pools::Unassigned& device : state.assignment.unassigned) {
    reasons += fmt::format("{} unassigned: {}\n", device.device_uuid, device.reason);
  }
  for (const std::string& note : state.assignment.notes) {
    reasons += note + "\n";
  }
  if (!reasons.empty()) {
    text += "\n" + reasons;
  }
  return text;
}

}  // namespace kgpu::agent
