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
    return state.snapshot->driver.reason;
  }
  if (!state.injection_problem.empty()) {
    return state.injection_problem;
  }
  for (const plugin::EndpointStatus& endpoint : state.endpoints) {
    if (endpoint.state != plugin::EndpointState::kRegistered) {
      return fmt::format("{} is not registered: {}", endpoint.resource, endpoint.reason);
    }
  }
  return {};
}

}  // namespace

bool IsReady(const AgentState& state, std::string* why) {
  *why = Obstacle(state);
  return why->empty();
}

}  // namespace kgpu::agent
