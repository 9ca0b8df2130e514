#include "src/agent/chain_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/node/loans/loan_view.h"
#include "src/node/plugin/delivery.h"

namespace kgpu::agent {
namespace {

// Reasons of a GPU that the driver names but whose handle does not work.
constexpr std::array<std::string_view, 4> kNoHandle = {"GpuLost", "DriverError", "NoDeviceNode",
                                                       "ResetRequired"};

bool HasHandle(const device::Gpu& gpu) {
  return gpu.health.is_healthy ||
         std::ranges::find(kNoHandle, gpu.health.reason) == kNoHandle.end();
}

void AddDriver(const AgentState& state, node::ChainFacts& facts) {
  const device::Snapshot& snapshot = *state.snapshot;
  const device::Driver& driver = snapshot.driver;
  facts.driver = driver.state;
  facts.driver_version = driver.version;
  facts.driver_problem = DriverProblem(state);
  if (driver.state != device::DriverState::kStarting) {
    facts.gpus = snapshot.gpus.size() + snapshot.unmanaged.size();
  }
  if (driver.state != device::DriverState::kReady) {
    return;
  }
  for (const device::Gpu& gpu : snapshot.gpus) {
    if (HasHandle(gpu)) {
      ++facts.handles;
    } else if (facts.handle_problem.empty()) {
      facts.handle_problem = fmt::format("{}: {}", gpu.uuid.str(), gpu.health.message);
    }
  }
}

void AddDelivery(const AgentState& state, node::ChainFacts& facts) {
  facts.is_runtime_known = state.delivery.has_value();
  facts.runtime_problem = state.injection_problem;
  if (state.delivery) {
    facts.runtime_way =
        fmt::format("containers get GPUs through {}", plugin::ToString(state.delivery->strategies));
    facts.is_cdi_used = state.delivery->NeedsSpecs();
    // It is decided only once the specs of this driver have been tried.
    facts.is_cdi_written = state.cdi_problem.empty();
  }
  facts.cdi_problem = state.cdi_problem.empty()
                          ? ""
                          : Blame(state.missing_privileges, Purpose::kCdi, state.cdi_problem);
}

void AddResources(const AgentState& state, node::ChainFacts& facts) {
  facts.has_resources =
      state.has_config && facts.driver == device::DriverState::kReady && state.snapshot;
  for (const pools::Resource& pool : state.assignment.local) {
    facts.local_gpus += loans::CountGpus(pool);
  }
  facts.changing = static_cast<size_t>(
      std::ranges::count(state.assignment.unassigned, true,
                         [](const pools::Unassigned& one) { return one.is_changing; }));
  for (const pools::Resource& resource : state.assignment.resources) {
    node::ResourceFact fact{
        .name = resource.name, .devices = resource.slots.size(), .by_claims = resource.by_claims};
    fact.allocatable = static_cast<uint64_t>(std::ranges::count_if(
        resource.slots, [](const pools::Slot& slot) { return slot.health.is_healthy; }));
    facts.changing += static_cast<size_t>(std::ranges::count(
        resource.slots, pools::kMigChangeReason,
        [](const pools::Slot& slot) { return std::string_view(slot.health.reason); }));
    const auto endpoint =
        std::ranges::find(state.endpoints, resource.name, &plugin::EndpointStatus::resource);
    if (endpoint != state.endpoints.end()) {
      fact.is_registered = endpoint->state == plugin::EndpointState::kRegistered;
      fact.problem = endpoint->reason.empty()
                         ? ""
                         : Blame(state.missing_privileges, Purpose::kKubelet, endpoint->reason);
    }
    const auto fault = std::ranges::find_if(
        resource.slots, [](const pools::Slot& slot) { return !slot.health.is_healthy; });
    fact.fault = fault == resource.slots.end() ? "" : fault->health.message;
    facts.resources.push_back(std::move(fact));
  }
}

}  // namespace

node::ChainFacts ChainFactsOf(const AgentState& state) {
  node::ChainFacts facts;
  if (state.snapshot) {
    AddDriver(state, facts);
  }
  if (!state.has_config) {
    facts.runtime_problem = state.config_problem;
  } else {
    AddDelivery(state, facts);
  }
  AddResources(state, facts);
  return facts;
}

}  // namespace kgpu::agent
