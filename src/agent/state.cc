#include "src/agent/state.h"

#include <fmt/format.h>

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

std::string DriverProblem(const AgentState& state) {
  const device::Driver& driver = state.snapshot->driver;
  return driver.state == device::DriverState::kReady
             ? driver.reason
             : Blame(state.missing_privileges, Purpose::kDriver, driver.reason);
}

}  // namespace kgpu::agent
