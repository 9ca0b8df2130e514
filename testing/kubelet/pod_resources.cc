#include "testing/kubelet/pod_resources.h"

namespace kgpu::kubelet {
namespace {

ListedContainer ListedOf(const std::string& pod_uid, const ContainerSpec& container,
                         const PodDevices& devices) {
  ListedContainer listed{.name = container.name,
                         .devices = {},
                         .cpus = container.exclusive_cpus,
                         .claims = container.claims};
  for (const Assignment* assignment : devices.OfContainer(pod_uid, container.name)) {
    for (const auto& [node, ids] : assignment->by_node) {
      for (const std::string& id : ids) {
        listed.devices.push_back({.resource = assignment->resource,
                                  .id = id,
                                  .node = node == kNoNode ? std::nullopt : std::optional(node)});
      }
    }
  }
  return listed;
}

}  // namespace

ListedPod Listed(
    const PodSpec& pod, const PodDevices& devices,
    const std::function<std::vector<ClaimedDevice>(const ContainerSpec& container)>& claimed) {
  ListedPod listed{.name = pod.name, .name_space = pod.name_space, .containers = {}};
  // Ordinary init containers are never listed, although they hold devices while they run.
  for (const ContainerKind kind : {ContainerKind::kSidecar, ContainerKind::kApp}) {
    for (const ContainerSpec& container : pod.containers) {
      if (container.kind == kind) {
        ListedContainer& added =
            listed.containers.emplace_back(ListedOf(pod.uid, container, devices));
        const std::vector<ClaimedDevice> claims = claimed(container);
        added.claims.insert(added.claims.end(), claims.begin(), claims.end());
      }
    }
  }
  return listed;
}

std::vector<ListedDevice> ListAllocatable(const ResourceTable& table) {
  std::vector<ListedDevice> listed;
  for (const auto& [name, resource] : table.resources()) {
    for (const std::string& id : resource.healthy.value_or(DeviceIds())) {
      const auto device = resource.devices.find(id);
      if (device == resource.devices.end() || device->second.numa_nodes.empty()) {
        listed.push_back({name, id, std::nullopt});
        continue;
      }
      for (const int64_t node : device->second.numa_nodes) {
        listed.push_back({name, id, node});
      }
    }
  }
  return listed;
}

}  // namespace kgpu::kubelet
