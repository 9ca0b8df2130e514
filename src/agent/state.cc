#include "src/agent/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace kgpu::agent {
namespace {

std::string Obstacle(const AgentState& state) {
  if (!state.has_config) {
    return fmt::format("no valid configuration: {}", state.config_problem);
  }
  if (!state.snapshot || state.snapshot->version == 0) {
    return "the driver has not answered yet";
  }
  if (state.snapshot->driver.state != device::DriverState::kReady) {
    return DriverProblem(state);
  }
  if (!state.injection_problem.empty()) {
    return Blame(state.missing_privileges, Purpose::kCdi, state.injection_problem);
  }
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    if (endpoint.state != plugin::EndpointState::kRegistered) {
      return fmt::format("{} is not registered: {}", endpoint.resource,
                         Blame(state.missing_privileges, Purpose::kKubelet, endpoint.reason));
    }
  }
  return {};
}

}  // namespace

bool IsReady(const AgentState& state, std::string* why) {
  *why = Obstacle(state);
  return why->empty();
}

void AddClaimEndpoints(const std::string& problem, AgentState& state) {
  for (const pools::Resource& resource : state.assignment.resources) {
    if (!resource.by_claims || resource.slots.empty()) {
      continue;
    }
    plugin::EndpointStatus& endpoint = state.endpoints.emplace_back();
    endpoint.resource = resource.name;
    endpoint.state =
        problem.empty() ? plugin::EndpointState::kRegistered : plugin::EndpointState::kWaiting;
    endpoint.reason = problem;
  }
  std::ranges::sort(state.endpoints, {}, &plugin::EndpointStatus::resource);
}

std::string DriverProblem(const AgentState& state) {
  const device::Driver& driver = state.snapshot->driver;
  return driver.state == device::DriverState::kReady
             ? driver.reason
             : Blame(state.missing_privileges, Purpose::kDriver, driver.reason);
}

}  // namespace kgpu::agent
