// The label that says how far the MIG layout of a node is. Pure.
#pragma once

#include <optional>
#include <string>

#include "src/node/labels/node_claims.h"
#include "src/node/object/seen_node.h"

namespace kgpu::layouts {

// Adds the state's label to the claims for the GPUs, if there are any, or removes it. `state`
// nothing: none; empty: not known, so that what the node carries of ours stays. `seen` null: the
// node is not known.
void AddMigState(const std::optional<std::string>& state, const node::SeenNode* seen,
                 std::optional<labels::NodeClaims>& gpus);

}  // namespace kgpu::layouts
