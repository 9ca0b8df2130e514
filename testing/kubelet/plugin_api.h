// The messages of the device plugin API v1beta1 as plain values, so that only the adapters use
// gRPC. Source: docs of each field in proto/deviceplugin_v1beta1.proto.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kgpu::kubelet {

inline constexpr const char* kApiVersion = "v1beta1";
inline constexpr const char* kHealthy = "Healthy";
inline constexpr const char* kUnhealthy = "Unhealthy";

using DeviceIds = std::set<std::string>;

struct Device {
  std::string id;
  std::string health;
  std::vector<int64_t> numa_nodes;  // empty: affinity unknown
  bool operator==(const Device&) const = default;
};

struct PluginOptions {
  bool pre_start_required = false;
  bool has_preferred_allocation = false;
  bool operator==(const PluginOptions&) const = default;
};

struct BindMount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  bool operator==(const BindMount&) const = default;
};

struct DeviceSpec {
  std::string container_path;
  std::string host_path;
  std::string permissions;  // subset of "rwm"
  bool operator==(const DeviceSpec&) const = default;
};

// An Allocate reply's content for one container; also all replies for a container combined.
struct ContainerOptions {
  std::map<std::string, std::string> envs;
  std::vector<BindMount> mounts;
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  // "vendor.com/class=name"
  bool operator==(const ContainerOptions&) const = default;
};

struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  int32_t size = 0;
};

}  // namespace kgpu::kubelet
