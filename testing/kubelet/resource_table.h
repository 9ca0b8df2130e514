// What the kubelet knows about each extended resource: its plugin, its devices and their health,
// and the node's status.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/clock.h"
#include "testing/kubelet/plugin_api.h"

namespace kgpu::kubelet {

class PluginClient;

// The plugin behind a resource. It stays, stopped, for the grace period after the plugin is gone.
struct Endpoint {
  std::shared_ptr<PluginClient> client;  // null after a kubelet restart
  std::optional<PluginOptions> options;  // as given at registration
  std::optional<SteadyTime> stopped_at;
};

struct Resource {
  // Both are absent until the first list, or the end of the first stream.
  std::optional<DeviceIds> healthy;
  std::optional<DeviceIds> unhealthy;
  std::map<std::string, Device> devices;  // the last list, kept for pods that hold some of it
  std::optional<Endpoint> endpoint;
};

struct Capacities {
  std::map<std::string, int64_t> capacity;
  std::map<std::string, int64_t> allocatable;
  std::set<std::string> removed;  // their grace period is over
};

// Lives on the loop's thread; `clock` must outlive it.
class ResourceTable {
 public:
  explicit ResourceTable(const Clock& clock) : clock_(clock) {}

  void Connect(const std::string& resource, Endpoint endpoint);
  // The plugin is gone: all its devices are unhealthy from now on.
  void Disconnect(const std::string& resource);
  // Stores a new list. Returns the ids that are new (possibly after an absence) or whose health
  // string changed.
  DeviceIds Receive(const std::string& resource, const std::vector<Device>& list);
  // After a restart: only the resource's name is known.
  void Restore(const std::string& resource);

  // Also forgets resources that were stopped longer than `grace` ago.
  Capacities TakeCapacities(std::chrono::nanoseconds grace);

  const Resource* Find(const std::string& resource) const;
  const std::map<std::string, Resource>& resources() const { return resources_; }
  // Health for the status of pods: a device that is not in the list counts as healthy.
  std::string HealthOf(const std::string& resource, const std::string& id) const;

 private:
  const Clock& clock_;
  std::map<std::string, Resource> resources_;
};

}  // namespace kgpu::kubelet
