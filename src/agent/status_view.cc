#include "src/agent/status_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>

#include "src/agent/loan_view.h"
#include "src/agent/slice_view.h"
#include "src/node/plugin/delivery.h"
#include "src/node/report/causes.h"
#include "src/node/report/table.h"
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

void AddEndpoints(const AgentState& state, std::string& text) {
  for (const MetricsEndpoint& endpoint : state.metrics_endpoints) {
    text += fmt::format("metrics   {}://{} (names: {}){}{}\n", endpoint.has_tls ? "https" : "http",
                        endpoint.address, NamesOf(endpoint.names),
                        endpoint.problem.empty() ? "" : " failed: ", endpoint.problem);
  }
}

// What the cluster knows about this node; `kgpu node status` has all of it.
void AddNode(const AgentState& state, std::string& text) {
  if (!state.node.node.empty()) {
    const std::string obstacle = node::Obstacle(state.node);
    text +=
        fmt::format("node      {}: {}\n", state.node.node, obstacle.empty() ? "healthy" : obstacle);
  }
  if (!state.plugin_owner.empty()) {
    text += fmt::format("GPUs      left to {}; to take over: kgpu node adopt --from plugin\n",
                        state.plugin_owner);
  }
  for (const std::string& problem : state.label_problems) {
    text += fmt::format("labels    {}\n", problem);
  }
}

// Readiness is about pods that get GPUs; metrics that nobody can read do not keep them from that.
std::string Readiness(const AgentState& state) {
  std::string why;
  if (!IsReady(state, &why)) {
    return "not ready: " + why;
  }
  const bool has_metrics = std::ranges::all_of(
      state.metrics_endpoints, [](const MetricsEndpoint& one) { return one.problem.empty(); });
  return has_metrics ? "ready" : "ready, except for metrics";
}

void AddConfig(const AgentState& state, std::string& text) {
  const choice::Report& report = state.config_report;
  if (report.state == choice::State::kWaiting) {
    text += fmt::format("config    waiting: {}\n", report.problem);
    return;
  }
  if (!state.config_problem.empty()) {
    text += fmt::format("config    rejected: {}\n", state.config_problem);
  }
  if (report.is_chosen_by_node) {
    text += fmt::format("config    {} ({})\n", choice::RunningText(report), report.why);
  } else if (state.config_problem.empty()) {
    text +=
        fmt::format("config    {}\n", state.config_file.empty() ? "built in" : state.config_file);
  }
}

void AddMig(const AgentState& state, std::string& text) {
  for (const MigGoalReport& report : state.mig) {
    text += fmt::format("MIG       {}: {}{}{}\n", report.goal,
                        report.state == MigState::kUnknown ? "planning" : ToString(report.state),
                        report.text.empty() ? "" : ": ", report.text);
  }
  if (!state.mig_problem.empty()) {
    text += fmt::format("MIG       {}\n", state.mig_problem);
  }
}

json::object MigJson(const AgentState& state) {
  json::array goals;
  for (const MigGoalReport& report : state.mig) {
    goals.push_back(json::object{{"goal", report.goal},
                                 {"state", std::string(ToString(report.state))},
                                 {"text", report.text}});
  }
  return {{"goals", std::move(goals)}, {"problem", state.mig_problem}};
}

void AddHead(const AgentState& state, std::string_view version, std::string& text) {
  text += fmt::format("kgpu {}: {}\n", version, Readiness(state));
  if (state.snapshot) {
    const device::Driver& driver = state.snapshot->driver;
    text +=
        fmt::format("driver    {}{}{}, {} GPUs\n", device::ToString(driver.state),
                    driver.version.empty() ? "" : " ", driver.version, state.snapshot->gpus.size());
  }
  AddConfig(state, text);
  if (state.delivery) {
    text += fmt::format("injection {}: {}\n", plugin::ToString(state.delivery->strategies),
                        state.delivery->reason);
  }
  if (!state.cdi_problem.empty()) {
    text += fmt::format("CDI       {}\n", state.cdi_problem);
  }
  if (!state.kernel_problem.empty()) {
    text += fmt::format("kernel    {}\n", state.kernel_problem);
  }
  if (!state.loan_problem.empty()) {
    text += fmt::format("loans     {}\n", state.loan_problem);
  }
  for (const std::string& problem : state.slice_problems) {
    text += fmt::format("slices    {}\n", problem);
  }
  if (!state.memory_problem.empty()) {
    text += fmt::format("state     {}\n", state.memory_problem);
  }
  AddMig(state, text);
  for (const MissingPrivilege& missing : state.missing_privileges) {
    text += fmt::format("privilege {}\n", ToString(missing));
  }
  AddEndpoints(state, text);
  AddNode(state, text);
}

}  // namespace

json::value StatusJson(const AgentState& state, std::string_view version) {
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
  object["kernelProblem"] = state.kernel_problem;
  object["mig"] = MigJson(state);
  json::array privileges;
  for (const MissingPrivilege& missing : state.missing_privileges) {
    privileges.push_back(
        json::object{{"what", missing.what}, {"effect", missing.effect}, {"fix", missing.fix}});
  }
  object["missingPrivileges"] = std::move(privileges);
  json::array endpoints;
  for (const MetricsEndpoint& endpoint : state.metrics_endpoints) {
    endpoints.push_back(json::object{{"address", endpoint.address},
                                     {"names", NamesOf(endpoint.names)},
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
  object["local"] = LocalPoolsJson(state);
  object["loans"] = LoansJson(state.loans, state.snapshot.get());
  object["loanProblem"] = state.loan_problem;
  object["sliceProblems"] = doc::Texts(state.slice_problems);
  object["slices"] = state.slices ? SliceFiguresJson(*state.slices) : json::array();
  json::array unassigned;
  for (const pools::Unassigned& device : state.assignment.unassigned) {
    unassigned.push_back(json::object{{"device", device.device_uuid}, {"reason", device.reason}});
  }
  object["unassigned"] = std::move(unassigned);
  object["notes"] = doc::Texts(state.assignment.notes);
  return object;
}

std::string StatusTable(const AgentState& state, std::string_view version) {
  std::string text;
  AddHead(state, version, text);
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
  text += LocalTable(state);
  if (state.slices) {
    text += SliceTable(*state.slices);
  }
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
