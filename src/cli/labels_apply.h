// Brings labels onto a Node object once, as an agent would.
#pragma once

#include <string>

#include "src/cli/exit_code.h"
#include "src/cli/node_api.h"
#include "src/node/labels/label_source.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Rules of the cluster, and features of others about the node. Where it has no such API, nothing.
// Errors: those of NodeApi::Send; InvalidArgument (an object that is none).
StatusOr<labels::ClusterLabels> ReadClusterLabels(NodeApi& api, const std::string& node);

// The node carries all of `claims` and nothing else of ours afterwards; its gate is left as it is:
// that speaks for an agent that runs.
StatusOr<ExitCode> ApplyClaims(const NodeOptions& options, NodeApi& api, const std::string& node,
                               const labels::NodeClaims& claims);

}  // namespace kgpu::cli
