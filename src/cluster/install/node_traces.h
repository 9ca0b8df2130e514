// What agents and the controller have left on Node objects: labels, annotations, taints,
// conditions, extended resources.
#pragma once

#include <boost/json/value.hpp>

#include <functional>
#include <string>
#include <vector>

#include "src/kube/objects/blocking_client.h"
#include "src/platform/base/status.h"

namespace kgpu::install {

// The next request that takes something of ours from a Node object, and what it takes; without a
// request, nothing of ours is left. What people have set with `kgpu node` is theirs. Pure. Errors:
// InvalidArgument (no Node).
struct TracePlan {
  bool has_more = false;
  kube::ApiRequest request{};
  std::vector<std::string> changes{};  // "label - nvidia.com/gpu.count"
};
StatusOr<TracePlan> PlanTraces(const boost::json::value& node);

struct ClearedNode {
  std::string name{};
  std::vector<std::string> changes{};
  Status status{};
};

struct ClearTracesOptions {
  bool is_dry_run = false;
  std::function<void(const ClearedNode&)> on_node{};
};

// Clears every node of the cluster that has traces. Continues after a node that fails. Errors:
// those of listing the nodes; a node's own is in its result.
StatusOr<std::vector<ClearedNode>> ClearTraces(kube::BlockingClient& client,
                                               const ClearTracesOptions& options);

}  // namespace kgpu::install
