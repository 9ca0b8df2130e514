// The kubelet's memory of devices: who offers them, who has them, and the checkpoint that survives
// a restart.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "testing/kubelet/layout.h"
#include "testing/kubelet/plugin_clients.h"
#include "testing/kubelet/pod_devices.h"
#include "testing/kubelet/resource_table.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class DeviceManager final : public PluginEvents {
 public:
  struct Hooks {
    // UIDs of the pods whose devices must not be freed.
    std::function<std::set<std::string>()> active_pods;
    // The health of an assigned device changed, or the device is back.
    std::function<void(const std::string& pod_uid)> on_health;
    // Capacities may have changed.
    std::function<void()> on_change;
  };

  // `clock` must outlive the manager.
  DeviceManager(const Clock& clock, const Layout& layout, Hooks hooks);

  // Restores what the previous kubelet wrote. False if there was no checkpoint. Errors:
  // InvalidArgument (not its own).
  StatusOr<bool> Restore();

  // PluginEvents.
  void OnConnected(const std::string& resource, std::shared_ptr<PluginClient> client,
                   const PluginOptions& options) override;
  void OnDisconnected(const std::string& resource) override;
  void OnDevices(const std::string& resource, const std::vector<Device>& devices) override;

  // Also forgets resources whose plugin has been gone for longer than `grace`.
  Capacities TakeCapacities(std::chrono::nanoseconds grace);

  const ResourceTable& table() const { return table_; }
  const PodDevices& pods() const { return pods_; }
  // Whether the kubelet itself manages the resource: registered, or assigned to somebody.
  bool IsOurs(const std::string& resource) const;
  // Ids that are assigned, or about to be.
  DeviceIds InUse(const std::string& resource) const;

  // Frees what inactive pods hold; does nothing until the first call of SetPodsKnown, when a
  // restarted kubelet knows all pods.
  void FreeInactive();
  void SetPodsKnown() { are_pods_known_ = true; }
  bool are_pods_known() const { return are_pods_known_; }

  // Marks `ids` as taken while the plugin is called.
  void Reserve(const std::string& resource, const DeviceIds& ids);
  // After it, only assigned devices are in use.
  void ForgetReservations();
  void Assign(const std::string& pod_uid, const std::string& container, const std::string& resource,
              const DeviceIds& ids, const ContainerOptions& options);
  // Errors are logged: a full disk must not stop a simulated node.
  void WriteCheckpoint() const;

 private:
  std::string checkpoint_path_;
  Hooks hooks_;
  ResourceTable table_;
  PodDevices pods_;
  IdsByResource allocated_;
  bool are_pods_known_ = false;
};

}  // namespace kgpu::kubelet
