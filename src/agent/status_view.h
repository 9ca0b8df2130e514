// `kgpu status`: the agent's state for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/agent/state.h"
#include "src/node/part/status_page.h"

namespace kgpu::agent {

// `parts` is what the parts have added. Field names are part of the interface:
// docs/reference/agent.md.
boost::json::value StatusJson(const AgentState& state, const node::StatusPage& parts,
                              std::string_view version);
std::string StatusTable(const AgentState& state, const node::StatusPage& parts,
                        std::string_view version);

}  // namespace kgpu::agent
