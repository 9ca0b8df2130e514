// Parses the kubelet's files and flags, as far as GPUs are concerned. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::doctor {

// Name of a feature gate → whether it is switched on.
using Gates = std::map<std::string, bool>;

// From a KubeletConfiguration. Source: kubernetes.io, "Kubelet Configuration (v1beta1)".
struct KubeletConfig {
  std::string cgroup_driver;    // empty: not set
  std::string engine_endpoint;  // empty: not set
  std::optional<bool> fails_on_cgroup_v1;
  Gates gates;
  bool operator==(const KubeletConfig&) const = default;
};
// Errors: InvalidArgument naming `file`.
StatusOr<KubeletConfig> ParseKubeletConfig(std::string_view text, std::string_view file);

// "A=true,B=false". Ignores malformed parts.
Gates ParseGates(std::string_view text);

// The values of a flag in a file of flags: a unit's drop-in, kubeadm-flags.env,
// /etc/default/kubelet. Ignores lines that begin with "#".
std::vector<std::string> FlagValues(std::string_view text, std::string_view flag);

// The configuration without these gates; nothing if that is not possible line by line.
std::optional<std::string> ConfigWithout(std::string_view text, const std::set<std::string>& gates);
// A file of flags without these gates, and without these flags ("--container-runtime").
std::string FlagsWithout(std::string_view text, const std::set<std::string>& gates,
                         const std::set<std::string>& flags);

// The state that the kubelet's device manager keeps on the disk. Source: the kubelet's
// pkg/kubelet/cm/devicemanager/checkpoint.
struct DeviceCheckpoint {
  // Resource → ids of its healthy devices.
  std::map<std::string, std::set<std::string>> registered;
  bool operator==(const DeviceCheckpoint&) const = default;
};
// Errors: InvalidArgument naming `file`.
StatusOr<DeviceCheckpoint> ParseDeviceCheckpoint(std::string_view text, std::string_view file);

}  // namespace kgpu::doctor
