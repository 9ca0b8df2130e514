#include "testing/kubelet/resource_table.h"

#include <utility>

namespace kgpu::kubelet {

void ResourceTable::Connect(const std::string& resource, Endpoint endpoint) {
  resources_[resource].endpoint = std::move(endpoint);
}

void ResourceTable::Disconnect(const std::string& resource) {
  const auto found = resources_.find(resource);
  if (found == resources_.end() || !found->second.endpoint) {
    return;
  }
  Resource& entry = found->second;
  DeviceIds& unhealthy = entry.unhealthy ? *entry.unhealthy : entry.unhealthy.emplace();
  if (entry.healthy) {
    unhealthy.merge(*entry.healthy);
    entry.healthy->clear();
  }
  entry.endpoint->stopped_at = clock_.Now();
}

DeviceIds ResourceTable::Receive(const std::string& resource, const std::vector<Device>& list) {
  Resource& entry = resources_[resource];
  const std::map<std::string, Device> before = std::exchange(entry.devices, {});
  entry.healthy.emplace();
  entry.unhealthy.emplace();
  DeviceIds changed;
  for (const Device& device : list) {
    const auto old = before.find(device.id);
    if (old == before.end() || old->second.health != device.health) {
      changed.insert(device.id);
    }
    // If two devices have the same id, the last one counts.
    entry.devices.insert_or_assign(device.id, device);
    entry.healthy->erase(device.id);
    entry.unhealthy->erase(device.id);
    (device.health == kHealthy ? *entry.healthy : *entry.unhealthy).insert(device.id);
  }
  return changed;
}

void ResourceTable::Restore(const std::string& resource) {
  Resource& entry = resources_[resource];
  entry.healthy.emplace();
  entry.unhealthy.emplace();
  entry.endpoint = Endpoint{.client = nullptr, .options = std::nullopt, .stopped_at = clock_.Now()};
}

Capacities ResourceTable::TakeCapacities(std::chrono::nanoseconds grace) {
  Capacities counted;
  for (auto& [name, entry] : resources_) {
    if (!entry.healthy && !entry.unhealthy) {
      continue;
    }
    const bool is_over = !entry.endpoint || (entry.endpoint->stopped_at &&
                                             clock_.Now() - *entry.endpoint->stopped_at > grace);
    if (is_over) {
      entry.healthy.reset();
      entry.unhealthy.reset();
      entry.endpoint.reset();
      counted.removed.insert(name);
      continue;
    }
    const auto healthy = static_cast<int64_t>(entry.healthy ? entry.healthy->size() : 0);
    const auto unhealthy = static_cast<int64_t>(entry.unhealthy ? entry.unhealthy->size() : 0);
    counted.capacity[name] = healthy + unhealthy;
    counted.allocatable[name] = healthy;
  }
  return counted;
}

const Resource* ResourceTable::Find(const std::string& resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() ? nullptr : &found->second;
}

std::string ResourceTable::HealthOf(const std::string& resource, const std::string& id) const {
  const Resource* entry = Find(resource);
  if (entry == nullptr) {
    return kHealthy;
  }
  const auto device = entry->devices.find(id);
  return device == entry->devices.end() || device->second.health == kHealthy ? kHealthy
                                                                             : kUnhealthy;
}

}  // namespace kgpu::kubelet
