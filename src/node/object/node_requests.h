// Requests that change a Node object, in the API's form. Pure functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/object/node_plan.h"

namespace kgpu::node {

// "/api/v1/nodes/n1".
std::string NodePath(std::string_view name);

// Server-side apply of all our labels and annotations. With `force`, only on this version of the
// node: does not take over what somebody else sets meanwhile.
kube::ApiRequest ApplyKeys(const SeenNode& node, const std::map<std::string, std::string>& labels,
                           const std::map<std::string, std::string>& annotations, bool force);
// Which of our conditions, and its field manager.
struct ConditionKind {
  std::string_view type;
  std::string_view manager;
};
inline constexpr ConditionKind kReadyCondition{kConditionType, kGateManager};
inline constexpr ConditionKind kHealthCondition{kHealthConditionType, kHealthManager};
inline constexpr ConditionKind kConfigCondition{kConfigConditionType, kConfigManager};

// Server-side apply to the status: one of our conditions, or none.
kube::ApiRequest ApplyCondition(const SeenNode& node, const ConditionKind& kind,
                                const std::optional<SeenCondition>& condition);
// The whole list of taints, JSON texts, only on this version of the node: the list is atomic.
kube::ApiRequest PatchTaints(const SeenNode& node, const std::vector<std::string>& taints,
                             std::string_view manager);
// JSON patch of the status; `removed` must exist.
kube::ApiRequest PatchResources(const SeenNode& node, const Quantities& set,
                                const std::vector<std::string>& removed);
// Merge patch of labels and annotations; an empty optional removes the key.
using KeyEdits = std::map<std::string, std::optional<std::string>>;
kube::ApiRequest PatchKeys(const SeenNode& node, const KeyEdits& labels,
                           const KeyEdits& annotations);

// A taint as JSON.
std::string TaintJson(const labels::Taint& taint);

}  // namespace kgpu::node
