// The file kubelet_internal_checkpoint: assignments and healthy devices, in the kubelet's own JSON
// layout. Only the checksum is ours: the kubelet's depends on a Go program's memory.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod_devices.h"

namespace kgpu::kubelet {

inline constexpr size_t kCheckpointLimit = size_t{16} << 20;  // bytes

struct Checkpoint {
  std::vector<Assignment> entries;
  std::map<std::string, std::vector<std::string>> registered;  // healthy ids by resource
  bool operator==(const Checkpoint&) const = default;
};

// One line, as the kubelet writes it.
std::string PrintCheckpoint(const Checkpoint& checkpoint);
// `file` is only used in errors. Errors: InvalidArgument (not this layout, wrong checksum).
StatusOr<Checkpoint> ParseCheckpoint(std::string_view text, std::string_view file);

}  // namespace kgpu::kubelet
