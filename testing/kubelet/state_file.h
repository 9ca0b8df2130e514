// Pods and the node's resources in a file: what a cluster would remember when this process dies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod_store.h"

namespace kgpu::kubelet {

struct NodeState {
  std::vector<Pod> pods;
  NodeResources resources;
};

std::string PrintNodeState(const NodeState& state);
// `file` is only used in errors. Errors: InvalidArgument.
StatusOr<NodeState> ParseNodeState(std::string_view text, const std::string& file);

}  // namespace kgpu::kubelet
