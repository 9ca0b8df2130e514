// Settings of the software that kgpu replaces, as its objects in the cluster hold them. Pure
// functions on foreign data: whatever they do not understand, they leave out.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::adopt {

// A key of a ConfigMap; all its keys if `key` is empty.
struct MapKey {
  std::string space{};
  std::string name{};
  std::string key{};
  auto operator<=>(const MapKey&) const = default;
};

// Of NVIDIA's device plugin: its DaemonSet. The command line wins over the environment, which wins
// over the configuration file.
struct PluginSettings {
  std::string where{};  // "gpu-operator/nvidia-device-plugin-daemonset"
  // By their names in the plugin's configuration file: "migStrategy", "deviceListStrategy".
  std::map<std::string, std::string> flags{};
  std::optional<MapKey> config{};  // each key of it is a configuration
  std::string default_config{};  // the key for nodes without a label; empty: none, or the only one
  bool operator==(const PluginSettings&) const = default;
};
PluginSettings ReadPluginSettings(const boost::json::value& daemon_set);

// Of the DCGM exporter.
struct ExporterSettings {
  std::string where{};
  std::string listen = ":9400";
  std::optional<std::chrono::milliseconds> every{};
  std::optional<MapKey> fields{};            // the list of fields to collect
  std::optional<std::string> fields_file{};  // the same, when it is no ConfigMap we can read
  bool has_hostname = false;                 // label "hostname" instead of "Hostname"
  bool has_pod_uid = false;
  std::vector<std::string> unsupported{};  // settings that kgpu has no counterpart for
  bool operator==(const ExporterSettings&) const = default;
};
// `version` is the image's tag: newer exporters name a label differently.
ExporterSettings ReadExporterSettings(const boost::json::value& daemon_set,
                                      std::string_view version);

// The names of the fields in an exporter's list ("DCGM_FI_DEV_GPU_TEMP, gauge, help" per line).
// Errors: InvalidArgument (over 1 MiB, or 4,096 fields).
StatusOr<std::set<std::string>> ReadFieldList(std::string_view text);

// Of the GPU operator: a ClusterPolicy.
struct PolicySettings {
  std::string name{};
  std::string mig_strategy{};
  std::string driver_root{};  // where its driver container has its files
  bool has_driver = true;     // runs a driver container
  bool has_sandbox = false;   // virtual machines on nodes with nvidia.com/gpu.workload.config
  std::optional<std::string> plugin_config{};  // name of the ConfigMap, in the operator's namespace
  std::string default_config{};
  std::vector<std::string> unsupported{};
  bool operator==(const PolicySettings&) const = default;
};
PolicySettings ReadPolicy(const boost::json::value& cluster_policy);

}  // namespace kgpu::adopt
