// An agent state for the tests of this folder.
#pragma once

#include <memory>
#include <utility>

#include "src/agent/state.h"

namespace kgpu::agent {

inline AgentState TestState() {
  AgentState state;
  state.started = WallTime(std::chrono::seconds(1'700'000'000));
  state.config_file = "/etc/kgpu/config.yaml";
  state.has_config = true;
  auto snapshot = std::make_shared<device::Snapshot>();
  snapshot->version = 3;
  snapshot->driver.state = device::DriverState::kReady;
  snapshot->driver.version = "535.104.05";
  pools::Resource resource;
  resource.name = "nvidia.com/gpu";
  for (unsigned i = 0; i < 2; ++i) {
    device::Gpu gpu;
    gpu.uuid =
        device::GpuUuid::Parse(fmt::format("GPU-0000000{}-0000-0000-0000-000000000000", i)).value();
    gpu.index = i;
    pools::Slot slot;
    slot.id = slot.device_uuid = gpu.uuid.str();
    slot.gpu = gpu.uuid;
    slot.numa_node = i;
    if (i == 1) {
      gpu.health = slot.health = {false, "Xid79", "The GPU has fallen off the bus: reset it."};
    }
    resource.slots.push_back(std::move(slot));
    snapshot->gpus.push_back(std::move(gpu));
  }
  state.snapshot = std::move(snapshot);
  state.assignment.resources.push_back(std::move(resource));
  state.assignment.unassigned.push_back({"GPU-aaaa", "excluded by exclude[0]"});
  plugin::EndpointStatus endpoint;
  endpoint.resource = "nvidia.com/gpu";
  endpoint.socket = "/var/lib/kubelet/device-plugins/kgpu-nvidia.com_gpu.sock";
  endpoint.state = plugin::EndpointState::kRegistered;
  endpoint.registrations = 1;
  endpoint.counts = {.allocations = 5, .failed_allocations = 1, .preferences = 6, .lists_sent = 2};
  endpoint.counts.allocation_latency = {.calls = {3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1},
                                        .seconds = 10.25};
  state.endpoints.push_back(std::move(endpoint));
  state.metrics_endpoints = {{.address = "127.0.0.1:9401", .names = {config::NameSet::kKgpu}},
                             {.address = ":9400",
                              .names = {config::NameSet::kDcgm},
                              .has_tls = true,
                              .problem = "address already in use"}};
  plugin::Delivery delivery;
  delivery.strategies = {config::DeviceListStrategy::kCdiCri};
  delivery.reason = "containerd 2.1.4: CDI enabled by default";
  state.delivery = std::move(delivery);
  return state;
}

}  // namespace kgpu::agent
