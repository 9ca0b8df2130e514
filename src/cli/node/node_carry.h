// Carries out a planned change of a Node object, and reports it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/output.h"
#include "src/node/object/edits.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

using PlanEdit = std::function<StatusOr<node::EditPlan>(const node::SeenNode&)>;

// What was done to which node.
struct NodeChange {
  std::string node;
  std::vector<std::string> changes{};
  std::vector<std::string> notes{};
};

// Sends `plan`'s requests until it has none left, again if the node has changed meanwhile. `change`
// records what was done, even if an error ends it; in a dry run, what would be done. Errors: those
// of `plan`, of NodeApi::Send, Unavailable (the node changes all the time).
Status Carry(NodeApi& api, const NodeOptions& options, const PlanEdit& plan, NodeChange& change);

// Prints what was done, if anything, and returns `status` if it is an error.
StatusOr<ExitCode> Report(const NodeOptions& options, OutputFormat format, const NodeChange& change,
                          const Status& status);

}  // namespace kgpu::cli
