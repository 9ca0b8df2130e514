// The Node object for people and programs: `kgpu node status`, GET /v1/node. Pure.
#pragma once

#include <boost/json/fwd.hpp>

#include <optional>
#include <string>

#include "src/node/object/chain.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/node/object/writer.h"

namespace kgpu::node {

struct NodeReport {
  std::string node{};
  // Nothing: no agent reported it (its fix stands in agent_problem).
  std::optional<Chain> chain{};
  std::string agent_problem{};
  // The node is called ready outwardly.
  bool is_ready = false;
  std::optional<DesiredGate> desired{};
  // The Node object as it was seen last; nothing: never, api_problem says why.
  std::optional<SeenNode> seen{};
  std::string api_problem{};
  Owners owners{};
  WriterState writer{};
};

// Field names are part of the interface: docs/reference/gating.md.
boost::json::value NodeJson(const NodeReport& report);
// The first thing wrong stands first.
std::string NodeTable(const NodeReport& report);
// Exit code 0 of `kgpu node status`, else 7: the node is called ready, or has no GPU and nobody
// expects one.
bool IsHealthy(const NodeReport& report);
// The first thing wrong in one line; empty when nothing is.
std::string Obstacle(const NodeReport& report);

}  // namespace kgpu::node
