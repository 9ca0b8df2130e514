// What of a Node object matters here: what it carries, and who set it. Pure.
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

// Field managers of ours: labels, annotations, taints and extended resources; the gate's
// condition and taint; the condition about the GPUs' health (one of its own, since what a manager
// no longer applies is taken away); what a person did by a verb.
inline constexpr std::string_view kManager = "kgpu";
inline constexpr std::string_view kGateManager = "kgpu-gate";
inline constexpr std::string_view kHealthManager = "kgpu-health";
inline constexpr std::string_view kVerbManager = "kgpu-verb";
inline constexpr std::string_view kConditionType = "GPUReady";
inline constexpr std::string_view kHealthConditionType = "GPUHealthy";

// A taint as the server has it: what we do not know of it (timeAdded, say) must not be lost when
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
  WallTime since{};  // lastTransitionTime; the epoch when it is unknown
  bool operator==(const SeenCondition&) const = default;
};

// One map of metadata: labels or annotations.
struct SeenKeys {
  std::map<std::string, std::string> values{};
  std::set<std::string> ours{};  // applied by kManager
  // Key → who else set it: "nfd-master", "kubectl-label".
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
  bool operator==(const SeenNode&) const = default;
};

// Errors: InvalidArgument (no Node object with a name). What else is missing or malformed counts as
// not there.
StatusOr<SeenNode> ReadNode(const boost::json::value& node);

// Whether resource version `a` is later than `b`. Versions of one resource are whole numbers since
// Kubernetes 1.35; of others it is only known that they differ, which counts as later.
bool IsLater(std::string_view a, std::string_view b);

}  // namespace kgpu::node
