// A CDI specification as a value, with the field names and meanings of the CDI specification 1.1.0
// (cncf-tags/container-device-interface, SPEC.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::cdi {

struct DeviceNode {
  std::string path;       // in the container
  std::string host_path;  // on the host, if different; needs 0.5.0
  std::string type;       // "c", "b", "u", "p"; empty: as on the host
  std::optional<int64_t> major;
  std::optional<int64_t> minor;
  std::optional<uint32_t> file_mode;
  std::string permissions;  // subset of "rwm", or "none"; empty: "rwm"
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  bool operator==(const DeviceNode&) const = default;
};

struct Mount {
  std::string host_path;
  std::string container_path;
  std::vector<std::string> options;
  std::string type;  // needs 0.4.0
  bool operator==(const Mount&) const = default;
};

struct Hook {
  std::string hook_name;
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<int64_t> timeout_seconds;
  bool operator==(const Hook&) const = default;
};

struct NetDevice {
  std::string host_interface_name;
  std::string name;
  bool operator==(const NetDevice&) const = default;
};

struct ContainerEdits {
  std::vector<std::string> env;  // "NAME=value"
  std::vector<DeviceNode> device_nodes;
  std::vector<NetDevice> net_devices;  // needs 1.1.0
  std::vector<Mount> mounts;
  std::vector<Hook> hooks;
  std::vector<uint32_t> additional_gids;  // needs 0.7.0
  bool has_intel_rdt = false;             // needs 0.7.0; we do not store its content
  bool operator==(const ContainerEdits&) const = default;
};

struct Annotation {
  std::string key;
  std::string value;
  bool operator==(const Annotation&) const = default;
};

struct Device {
  std::string name;
  std::vector<Annotation> annotations;  // need 0.6.0
  ContainerEdits edits;
  bool operator==(const Device&) const = default;
};

struct Spec {
  std::string version;  // cdiVersion
  std::string kind;     // "vendor.com/class"
  std::vector<Annotation> annotations;
  std::vector<Device> devices;
  ContainerEdits edits;
  bool operator==(const Spec&) const = default;
};

// The lowest cdiVersion that allows everything in `spec` ("0.3.0" … "1.1.0"): engines refuse
// versions that they do not know.
std::string MinimumVersion(const Spec& spec);

// Checks all rules of SPEC.md that do not involve the host: kind, names, duplicate devices,
// empty edits, version known and sufficient. Errors: InvalidArgument naming device, field and
// value.
Status Validate(const Spec& spec);

}  // namespace kgpu::cdi
