// Writes labels to a Node object once, as an agent would.
#pragma once

#include <string>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/node_api.h"
#include "src/node/labels/label_source.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// The cluster's rules, and others' features of the node. Nothing if it has no such API. Errors:
// those of NodeApi::Send; InvalidArgument (an invalid object).
StatusOr<labels::ClusterLabels> ReadClusterLabels(NodeApi& api, const std::string& node);

// Afterwards the node carries all of `claims` and nothing else of ours, except its gate, which
// belongs to a running agent.
StatusOr<ExitCode> ApplyClaims(const NodeOptions& options, NodeApi& api, const std::string& node,
                               const labels::NodeClaims& claims);

}  // namespace kgpu::cli
