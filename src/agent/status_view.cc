#include "src/agent/status_view.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>

#include "src/node/plugin/delivery.h"
#include "src/node/report/table.h"

namespace kgpu::agent {
namespace {

namespace json = boost::json;

std::string Iso(WallTime time) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

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

void AddDoors(const AgentState& state, std::string& text) {
  for (const Door& door : state.doors) {
    text +=
        fmt::format("metrics   {}://{}: {}{}{}\n", door.has_tls ? "https" : "http", door.address,
                    NamesOf(door.names), door.problem.empty() ? "" : ": ", door.problem);
  }
}

// What the cluster is told of this node; `kgpu node status` has all of it.
void AddNode(const AgentState& state, std::string& text) {
  if (!state.node.node.empty()) {
    const std::string obstacle = node::Obstacle(state.node);
    text +=
        fmt::format("node      {}: {}\n", state.node.node, obstacle.empty() ? "well" : obstacle);
  }
  if (!state.plugin_owner.empty()) {
    text += fmt::format("GPUs      are left to {}: kgpu node adopt --from plugin takes over\n",
                        state.plugin_owner);
  }
  for (const std::string& problem : state.label_problems) {
    text += fmt::format("labels    {}\n", problem);
  }
}

void AddHead(const AgentState& state, std::string_view version, std::string& text) {
  std::string why;
  const bool is_ready = IsReady(state, &why);
  text += fmt::format("kgpu {}: {}\n", version, is_ready ? "ready" : "not ready: " + why);
  if (state.snapshot) {
    const device::Driver& driver = state.snapshot->driver;
    text +=
        fmt::format("driver    {}{}{}, {} GPUs\n", device::ToString(driver.state),
                    driver.version.empty() ? "" : " ", driver.version, state.snapshot->gpus.size());
  }
  text += fmt::format("config    {}\n",
                      state.config_problem.empty()
                          ? (state.config_file.empty() ? "built in" : state.config_file)
                          : "refused: " + state.config_problem);
  if (state.delivery) {
    text += fmt::format("delivery  {}: {}\n", plugin::ToString(state.delivery->strategies),
                        state.delivery->reason);
  }
  if (!state.cdi_problem.empty()) {
    text += fmt::format("CDI       {}\n", state.cdi_problem);
  }
  if (!state.kernel_problem.empty()) {
    text += fmt::format("kernel    {}\n", state.kernel_problem);
  }
  if (!state.memory_problem.empty()) {
    text += fmt::format("memory    {}\n", state.memory_problem);
  }
  AddDoors(state, text);
  AddNode(state, text);
}

}  // namespace

json::value StatusJson(const AgentState& state, std::string_view version) {
  std::string why;
  json::object object;
  object["ready"] = IsReady(state, &why);
  object["obstacle"] = why;
  object["version"] = std::string(version);
  object["startedAt"] = Iso(state.started);
  object["config"] = json::object{{"file", state.config_file}, {"problem", state.config_problem}};
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
  json::array doors;
  for (const Door& door : state.doors) {
    doors.push_back(json::object{{"address", door.address},
                                 {"names", NamesOf(door.names)},
                                 {"tls", door.has_tls},
                                 {"problem", door.problem}});
  }
  object["metrics"] = std::move(doors);
  object["node"] =
      json::object{{"name", state.node.node}, {"obstacle", node::Obstacle(state.node)}};
  object["pluginOwner"] = state.plugin_owner;
  json::array label_problems;
  for (const std::string& problem : state.label_problems) {
    label_problems.push_back(json::value(problem));
  }
  object["labelProblems"] = std::move(label_problems);
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
  json::array notes;
  for (const std::string& note : state.assignment.notes) {
    notes.push_back(json::value(note));
  }
  object["notes"] = std::move(notes);
  return object;
}

std::string StatusTable(const AgentState& state, std::string_view version) {
  std::string text;
  AddHead(state, version, text);
  report::Table resources({"RESOURCE", "CAPACITY", "ALLOCATABLE", "KUBELET", "ALLOCATIONS"});
  std::string reasons;
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
        reasons +=
            fmt::format("{} {}: {}\n", slot.device_uuid, slot.health.reason, slot.health.message);
      }
    }
  }
  if (!state.assignment.resources.empty()) {
    text += "\n" + resources.Render();
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
