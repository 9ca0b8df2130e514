#include "testing/kubelet/proto_codec.h"

#include "testing/kubelet/options_bytes.h"

namespace kgpu::kubelet {

std::vector<Device> FromProto(const v1beta1::ListAndWatchResponse& message) {
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(message.devices_size()));
  for (const v1beta1::Device& from : message.devices()) {
    Device& device = devices.emplace_back();
    device.id = from.id();
    device.health = from.health();
    for (const v1beta1::NUMANode& node : from.topology().nodes()) {
      device.numa_nodes.push_back(node.id());
    }
  }
  return devices;
}

v1beta1::ListAndWatchResponse ToProto(const std::vector<Device>& devices) {
  v1beta1::ListAndWatchResponse message;
  for (const Device& device : devices) {
    v1beta1::Device& to = *message.add_devices();
    to.set_id(device.id);
    to.set_health(device.health);
    for (const int64_t node : device.numa_nodes) {
      to.mutable_topology()->add_nodes()->set_id(node);
    }
  }
  return message;
}

ContainerOptions FromProto(const v1beta1::ContainerAllocateResponse& message) {
  ContainerOptions options;
  options.envs.insert(message.envs().begin(), message.envs().end());
  for (const v1beta1::Mount& mount : message.mounts()) {
    options.mounts.push_back({mount.container_path(), mount.host_path(), mount.read_only()});
  }
  for (const v1beta1::DeviceSpec& device : message.devices()) {
    options.devices.push_back({device.container_path(), device.host_path(), device.permissions()});
  }
  options.annotations.insert(message.annotations().begin(), message.annotations().end());
  for (const v1beta1::CDIDevice& device : message.cdi_devices()) {
    options.cdi_devices.push_back(device.name());
  }
  return options;
}

v1beta1::ContainerAllocateResponse ToProto(const ContainerOptions& options) {
  v1beta1::ContainerAllocateResponse message;
  message.mutable_envs()->insert(options.envs.begin(), options.envs.end());
  for (const BindMount& mount : options.mounts) {
    v1beta1::Mount& to = *message.add_mounts();
    to.set_container_path(mount.container_path);
    to.set_host_path(mount.host_path);
    to.set_read_only(mount.read_only);
  }
  for (const DeviceSpec& device : options.devices) {
    v1beta1::DeviceSpec& to = *message.add_devices();
    to.set_container_path(device.container_path);
    to.set_host_path(device.host_path);
    to.set_permissions(device.permissions);
  }
  message.mutable_annotations()->insert(options.annotations.begin(), options.annotations.end());
  for (const std::string& name : options.cdi_devices) {
    message.add_cdi_devices()->set_name(name);
  }
  return message;
}

std::string ToBytes(const ContainerOptions& options) {
  return ToProto(options).SerializeAsString();
}

StatusOr<ContainerOptions> OptionsFromBytes(const std::string& bytes) {
  v1beta1::ContainerAllocateResponse message;
  if (!message.ParseFromString(bytes)) {
    return InvalidArgument("invalid ContainerAllocateResponse of {} bytes", bytes.size());
  }
  return FromProto(message);
}

}  // namespace kgpu::kubelet
