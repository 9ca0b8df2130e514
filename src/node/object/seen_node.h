// The relevant parts of a Node object: what it carries, and who set it. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/node_claims.h"
#include "src/node/object/chain.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::node {

// Our field managers, for: labels, annotations, taints and extended resources; the gate's condition
// and taint; the condition about the GPUs' health, and that about the configuration (separate,
// since fields that a manager no longer applies are removed); changes by a person through a
// command.
inline constexpr std::string_view kManager = "kgpu";
inline constexpr std::string_view kGateManager = "kgpu-gate";
inline constexpr std::string_view kHealthManager = "kgpu-health";
inline constexpr std::string_view kConfigManager = "kgpu-config";
inline constexpr std::string_view kVerbManager = "kgpu-verb";
inline constexpr std::string_view kConditionType = "GPUReady";
inline constexpr std::string_view kHealthConditionType = "GPUHealthy";
inline constexpr std::string_view kConfigConditionType = "GPUConfigured";

// A taint as the server has it: parts that we do not know (timeAdded, say) must not be lost when
// the list is written again.
struct SeenTaint {
  labels::Taint taint;
  std::string json;
  bool operator==(const SeenTaint&) const = default;
};

struct SeenCondition {
  std::string status{};  // True, False, Unknown
  std::string reason{};
  std::string message{};
  WallTime since{};  // lastTransitionTime; the epoch if unknown
  bool operator==(const SeenCondition&) const = default;
};

// One metadata map: labels or annotations.
struct SeenKeys {
  std::map<std::string, std::string> values{};
  std::set<std::string> ours{};  // applied by kManager
  // Key → who else has set it: "nfd-master", "kubectl-label".
  std::map<std::string, std::set<std::string>> others{};
  bool operator==(const SeenKeys&) const = default;
};

struct SeenNode {
  std::string name{};
  std::string uid{};
  std::string version{};  // resourceVersion
  SeenKeys labels{};
  SeenKeys annotations{};
  std::vector<SeenTaint> taints{};
  Quantities capacity{};     // with a "/" in their names only: not cpu and memory
  Quantities allocatable{};  // the same
  std::optional<SeenCondition> gpu_ready{};
  std::optional<SeenCondition> gpu_healthy{};
  std::optional<SeenCondition> gpu_configured{};
  bool operator==(const SeenNode&) const = default;
};

// Errors: InvalidArgument (no Node object with a name). Anything else that is missing or malformed
// counts as absent.
StatusOr<SeenNode> ReadNode(const boost::json::value& node);

// Whether resource version `a` is later than `b`. Versions of one resource are whole numbers since
// Kubernetes 1.35; otherwise we only know that they differ, which counts as later.
bool IsLater(std::string_view a, std::string_view b);

}  // namespace kgpu::node
