// The kubelet's topology manager with one hint provider, the device manager: on which NUMA nodes a
// container's devices should be.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "testing/kubelet/picker.h"

namespace kgpu::kubelet {

enum class TopologyPolicy : uint8_t { kNone, kBestEffort, kRestricted, kSingleNumaNode };

struct Hint {
  std::optional<NodeMask> affinity;  // nothing: any node
  bool is_preferred = false;
  bool operator==(const Hint&) const = default;
};

struct HintRequest {
  int64_t required = 0;
  std::map<std::string, Device> devices;  // every device of the resource
  DeviceIds available;                    // healthy and not in use
  DeviceIds reusable;
};

// The hints of one resource: nothing if its devices have no nodes (no preference), an empty list if
// no set of nodes could satisfy the request.
std::optional<std::vector<Hint>> HintsOf(const HintRequest& request);

struct TopologyDecision {
  bool is_admitted = true;
  std::optional<NodeMask> affinity;
};

// Merges the hints of all resources of one container and applies `policy`.
TopologyDecision Decide(TopologyPolicy policy,
                        const std::vector<std::optional<std::vector<Hint>>>& hints);

}  // namespace kgpu::kubelet
