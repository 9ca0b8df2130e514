// The Node object for people and programs: `kgpu node status`, GET /v1/node. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "src/node/object/chain.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/node/object/writer.h"

namespace kgpu::node {

struct NodeReport {
  std::string node{};
  // Nothing: no agent reported it (agent_problem has the fix).
  std::optional<Chain> chain{};
  std::string agent_problem{};
  // The node is reported as ready.
  bool is_ready = false;
  std::optional<DesiredGate> desired{};
  // The Node object as last seen; nothing: never, see api_problem.
  std::optional<SeenNode> seen{};
  std::string api_problem{};
  Owners owners{};
  WriterState writer{};
  // Of the agent, next to the links: none makes the node less ready.
  std::vector<std::string> remarks{};
};

// Field names are part of the interface: docs/reference/gating.md.
boost::json::value NodeJson(const NodeReport& report);
// The first problem comes first.
std::string NodeTable(const NodeReport& report);
// Whether `kgpu node status` exits with 0 instead of 7: the node is reported as ready, or has no
// GPU and nobody expects one.
bool IsHealthy(const NodeReport& report);
// The first problem on one line; empty if there is none.
std::string Obstacle(const NodeReport& report);

}  // namespace kgpu::node
