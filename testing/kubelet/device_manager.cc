#include "testing/kubelet/device_manager.h"

#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "testing/kubelet/checkpoint.h"
#include "testing/kubelet/text_file.h"

namespace kgpu::kubelet {

DeviceManager::DeviceManager(const Clock& clock, const Layout& layout, Hooks hooks)
    : checkpoint_path_(layout.checkpoint()), hooks_(std::move(hooks)), table_(clock) {
}

StatusOr<bool> DeviceManager::Restore() {
  const StatusOr<std::string> text = ReadTextFile(checkpoint_path_, kCheckpointLimit);
  if (text.status().code() == StatusCode::kNotFound) {
    return false;
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, ParseCheckpoint(*text, checkpoint_path_));
  for (const Assignment& entry : checkpoint.entries) {
    pods_.Insert(entry);
  }
  allocated_ = pods_.Allocated();
  for (const auto& [resource, ids] : checkpoint.registered) {
    table_.Restore(resource);
  }
  return true;
}

void DeviceManager::OnConnected(const std::string& resource, std::shared_ptr<PluginClient> client,
                                const PluginOptions& options) {
  table_.Connect(
      resource,
      Endpoint{.client = std::move(client), .options = options, .stopped_at = std::nullopt});
  KGPU_LOG(kInfo, "plugin registered", {"resource", resource});
  hooks_.on_change();
}

void DeviceManager::OnDisconnected(const std::string& resource) {
  table_.Disconnect(resource);
  KGPU_LOG(kInfo, "plugin removed", {"resource", resource});
  hooks_.on_change();
}

void DeviceManager::OnDevices(const std::string& resource, const std::vector<Device>& devices) {
  std::set<std::string> pods;
  for (const std::string& id : table_.Receive(resource, devices)) {
    if (std::string pod = pods_.PodOfDevice(id); !pod.empty()) {
      pods.insert(std::move(pod));
    }
  }
  WriteCheckpoint();
  for (const std::string& pod : pods) {
    hooks_.on_health(pod);
  }
  hooks_.on_change();
}

Capacities DeviceManager::TakeCapacities(std::chrono::nanoseconds grace) {
  Capacities capacities = table_.TakeCapacities(grace);
  if (!capacities.removed.empty()) {
    WriteCheckpoint();
  }
  return capacities;
}

bool DeviceManager::IsOurs(const std::string& resource) const {
  const Resource* entry = table_.Find(resource);
  return (entry != nullptr && entry->healthy) || allocated_.contains(resource);
}

DeviceIds DeviceManager::InUse(const std::string& resource) const {
  const auto found = allocated_.find(resource);
  return found == allocated_.end() ? DeviceIds() : found->second;
}

void DeviceManager::FreeInactive() {
  if (are_pods_known_ && pods_.KeepOnly(hooks_.active_pods())) {
    allocated_ = pods_.Allocated();
  }
}

void DeviceManager::Reserve(const std::string& resource, const DeviceIds& ids) {
  allocated_[resource].insert(ids.begin(), ids.end());
}

void DeviceManager::ForgetReservations() {
  allocated_ = pods_.Allocated();
}

void DeviceManager::Assign(const std::string& pod_uid, const std::string& container,
                           const std::string& resource, const DeviceIds& ids,
                           const ContainerOptions& options) {
  Assignment assignment{.pod_uid = pod_uid,
                        .container = container,
                        .resource = resource,
                        .by_node = {},
                        .options = options};
  const Resource* entry = table_.Find(resource);
  for (const std::string& id : ids) {
    std::vector<int64_t> nodes;
    if (entry != nullptr && entry->devices.contains(id)) {
      nodes = entry->devices.at(id).numa_nodes;
    }
    if (nodes.empty()) {
      nodes.push_back(kNoNode);
    }
    for (const int64_t node : nodes) {
      assignment.by_node[node].push_back(id);
    }
  }
  pods_.Insert(std::move(assignment));
  Reserve(resource, ids);
}

void DeviceManager::WriteCheckpoint() const {
  Checkpoint checkpoint;
  for (const Assignment* assignment : pods_.All()) {
    checkpoint.entries.push_back(*assignment);
  }
  for (const auto& [name, resource] : table_.resources()) {
    if (resource.healthy) {
      checkpoint.registered[name] = {resource.healthy->begin(), resource.healthy->end()};
    }
  }
  const Status status =
      sys::WriteFileAtomically(checkpoint_path_, PrintCheckpoint(checkpoint), 0600);
  if (!status.ok()) {
    KGPU_LOG(kError, "checkpoint not written", {"reason", Message(status)});
  }
}

}  // namespace kgpu::kubelet
