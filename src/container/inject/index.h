// The injection index: everything that kgpu-runtime must know about this host to give its GPUs to
// containers, for every capability, in one small file. It is written wherever CDI specs are
// published and read for every create, so it is cheap to read. docs/how-it-works/cdi.md, "The
// injection index".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/container/inject/capability.h"
#include "src/platform/base/status.h"

namespace kgpu::inject {

// Below the host's root.
inline constexpr std::string_view kInjectionIndexPath = "/run/kgpu/injection.json";

// Size limit of an index; sixteen GPUs with seven MIG devices each take about 60 kB.
inline constexpr size_t kIndexLimit = size_t{1} << 20;

// Increases when an older reader would misunderstand the file.
inline constexpr int64_t kIndexVersion = 1;

struct IndexNode {
  CapabilitySet needed_by;  // none: always
  cdi::DeviceNode node;
  bool operator==(const IndexNode&) const = default;
};

// A GPU, or one of its MIG devices. A GPU in MIG mode has no entry: containers get its MIG devices.
struct IndexDevice {
  std::vector<std::string> names;  // "0", "GPU-…"; "0:1", "MIG-…"; never "all"
  std::string compute_capability;  // "8.0"; empty: not known
  std::string brand;               // in the words of NVIDIA_REQUIRE_*: "tesla", "unknown"
  bool is_mig = false;
  std::vector<IndexNode> nodes;
  bool operator==(const IndexDevice&) const = default;
};

// A file of the driver, or a socket of one of its daemons, and its paths in containers.
struct IndexFile {
  CapabilitySet needed_by;  // none: always
  bool is_32bit = false;    // only for containers that also request compat32
  bool is_socket = false;
  std::string host_path;                     // the real file, by the container engine's path
  std::vector<std::string> container_paths;  // one mount each
  bool operator==(const IndexFile&) const = default;
};

struct InjectionIndex {
  std::string driver_version;  // "535.104.05"; empty: not known
  std::string cuda_version;    // "12.2", the highest that the driver supports; empty: not known
  std::vector<IndexDevice> devices;  // GPUs by PCI address, each with its MIG devices
  std::vector<IndexNode> nodes;      // for every container with any of the devices
  std::vector<IndexFile> files;  // likewise; if two have one container path, the first wanted wins
  std::vector<std::string> env;  // likewise: "NAME=value"
  bool operator==(const InjectionIndex&) const = default;
};

// Those of `nodes` that a container with the capabilities `wanted` gets, in order.
std::vector<cdi::DeviceNode> NodesFor(const std::vector<IndexNode>& nodes, CapabilitySet wanted);

// The mounts of such a container: by depth of the container path, then by name, each path once.
std::vector<cdi::Mount> MountsFor(const InjectionIndex& index, CapabilitySet wanted);

// JSON. ParseIndex(PrintIndex(index), …) equals `index`, if its nodes have no fields besides path,
// host path, type, numbers and permissions.
std::string PrintIndex(const InjectionIndex& index);

// Strict: unknown fields, fields of the wrong type and relative paths are errors that name `file`
// and the field. Links JSON only, no YAML. Errors: InvalidArgument, FailedPrecondition (written by
// another version of kgpu).
StatusOr<InjectionIndex> ParseIndex(std::string_view text, std::string_view file);

}  // namespace kgpu::inject
