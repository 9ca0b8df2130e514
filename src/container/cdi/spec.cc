#include "src/container/cdi/spec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>

#include "src/container/cdi/names.h"
#include "src/container/cdi/spec_version.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cdi {
namespace {

// Oldest first: versions compare by their place here.
constexpr std::array<std::string_view, 10> kVersions = {
    "0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0", "1.0.0", "1.1.0"};
constexpr std::string_view kEarliest = "0.3.0";  // the first that engines read

constexpr std::array<std::string_view, 6> kHookNames = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

size_t Rank(std::string_view version) {
  return static_cast<size_t>(std::ranges::find(kVersions, version) - kVersions.begin());
}

std::string_view Newer(std::string_view a, std::string_view b) {
  return Rank(a) < Rank(b) ? b : a;
}

std::string_view MinimumVersion(const ContainerEdits& edits) {
  if (!edits.net_devices.empty()) {
    return "1.1.0";
  }
  if (edits.has_intel_rdt || !edits.additional_gids.empty()) {
    return "0.7.0";
  }
  const bool has_host_path = std::ranges::any_of(edits.device_nodes, [](const DeviceNode& node) {
    return !node.host_path.empty() && node.host_path != node.path;
  });
  if (has_host_path) {
    return "0.5.0";
  }
  const bool has_mount_type =
      std::ranges::any_of(edits.mounts, [](const Mount& mount) { return !mount.type.empty(); });
  return has_mount_type ? "0.4.0" : kEarliest;
}

// "1.10.0" → 1, 10, 0; nothing for what is no version.
std::optional<std::array<uint64_t, 3>> Numbers(std::string_view version) {
  const std::vector<std::string_view> parts = Split(version, '.');
  std::array<uint64_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::optional<uint64_t> number = i < parts.size() ? ParseUint(parts[i]) : std::nullopt;
    if (!number || parts.size() != numbers.size()) {
      return std::nullopt;
    }
    numbers[i] = *number;
  }
  return numbers;
}

Status ValidateEnv(const std::vector<std::string>& env) {
  for (const std::string& variable : env) {
    if (variable.find('=') == std::string::npos || variable.starts_with('=')) {
      return InvalidArgument("env \"{}\" is not NAME=value", Printable(variable));
    }
  }
  return OkStatus();
}

Status ValidateNode(const DeviceNode& node) {
  constexpr std::array<std::string_view, 5> kTypes = {"", "b", "c", "u", "p"};
  if (node.path.empty()) {
    return InvalidArgument("a device node has no path");
  }
  if (std::ranges::find(kTypes, node.type) == kTypes.end()) {
    return InvalidArgument("device node {}: type \"{}\" must be b, c, u or p", Printable(node.path),
                           Printable(node.type));
  }
  // "none": the node without a right to open it.
  if (node.permissions != "none" &&
      node.permissions.find_first_not_of("rwm") != std::string::npos) {
    return InvalidArgument("device node {}: permissions \"{}\" must contain only r, w and m",
                           Printable(node.path), Printable(node.permissions));
  }
  return OkStatus();
}

Status ValidateMount(const Mount& mount) {
  if (mount.host_path.empty() || mount.container_path.empty()) {
    return InvalidArgument("mount \"{}\" → \"{}\": hostPath and containerPath must both be set",
                           Printable(mount.host_path), Printable(mount.container_path));
  }
  return OkStatus();
}

Status ValidateHook(const Hook& hook) {
  if (std::ranges::find(kHookNames, hook.hook_name) == kHookNames.end()) {
    return InvalidArgument("hookName \"{}\" is not an OCI hook", Printable(hook.hook_name));
  }
  if (hook.path.empty()) {
    return InvalidArgument("hook {} has no path", hook.hook_name);
  }
  if (hook.timeout_seconds && *hook.timeout_seconds <= 0) {
    return InvalidArgument("hook {}: timeout {} must be positive", hook.hook_name,
                           *hook.timeout_seconds);
  }
  return Annotate(ValidateEnv(hook.env), "hook {}", hook.hook_name);
}

Status ValidateNetDevices(const std::vector<NetDevice>& devices) {
  std::set<std::string_view> names;
  for (const NetDevice& device : devices) {
    if (device.host_interface_name.empty() || device.name.empty()) {
      return InvalidArgument("a network device lacks hostInterfaceName or name");
    }
    if (!names.insert(device.name).second) {
      return InvalidArgument("duplicate network device \"{}\"", Printable(device.name));
    }
  }
  return OkStatus();
}

Status ValidateEdits(const ContainerEdits& edits) {
  RETURN_IF_ERROR(ValidateEnv(edits.env));
  for (const DeviceNode& node : edits.device_nodes) {
    RETURN_IF_ERROR(ValidateNode(node));
  }
  for (const Mount& mount : edits.mounts) {
    RETURN_IF_ERROR(ValidateMount(mount));
  }
  for (const Hook& hook : edits.hooks) {
    RETURN_IF_ERROR(ValidateHook(hook));
  }
  return ValidateNetDevices(edits.net_devices);
}

Status ValidateDevice(const Device& device) {
  RETURN_IF_ERROR(ValidateDeviceName(device.name));
  if (device.edits == ContainerEdits{}) {
    return InvalidArgument("device \"{}\" has no containerEdits: add some, or remove the field",
                           device.name);
  }
  return Annotate(ValidateEdits(device.edits), "device \"{}\"", device.name);
}

}  // namespace

std::string MinimumVersion(const Spec& spec) {
  std::string_view version = MinimumVersion(spec.edits);
  if (!spec.annotations.empty() || spec.kind.find('.', spec.kind.find('/')) != std::string::npos) {
    version = Newer(version, "0.6.0");
  }
  for (const Device& device : spec.devices) {
    version = Newer(version, MinimumVersion(device.edits));
    if (!device.annotations.empty()) {
      version = Newer(version, "0.6.0");
    }
    if (!device.name.empty() && IsDigit(device.name.front())) {
      version = Newer(version, "0.5.0");
    }
  }
  return std::string(version);
}

Status Validate(const Spec& spec) {
  if (Rank(spec.version) == kVersions.size()) {
    return InvalidArgument("cdiVersion \"{}\" must be from {} to {}", Printable(spec.version),
                           kVersions.front(), kVersions.back());
  }
  if (const std::string minimum = MinimumVersion(spec); Rank(spec.version) < Rank(minimum)) {
    return InvalidArgument("cdiVersion \"{}\" is too low for this spec: write \"{}\"", spec.version,
                           minimum);
  }
  RETURN_IF_ERROR(ParseKind(spec.kind).status());
  if (spec.devices.empty()) {
    return InvalidArgument("the spec has no devices");
  }
  RETURN_IF_ERROR(Annotate(ValidateEdits(spec.edits), "containerEdits"));
  std::set<std::string_view> names;
  for (const Device& device : spec.devices) {
    RETURN_IF_ERROR(ValidateDevice(device));
    if (!names.insert(device.name).second) {
      return InvalidArgument("duplicate device \"{}\"", device.name);
    }
  }
  return OkStatus();
}

bool IsNewerThanKnown(std::string_view version) {
  const auto numbers = Numbers(version);
  const auto newest = Numbers(kVersions.back());
  return numbers && newest && *numbers > *newest;
}

}  // namespace kgpu::cdi
