// `kgpu status`: the agent's state for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>
#include <string_view>

#include "src/agent/state.h"

namespace kgpu::agent {

// Field names are part of the interface: docs/reference/agent.md.
boost::json::value StatusJson(const AgentState& state, std::string_view version);
std::string StatusTable(const AgentState& state, std::string_view version);

}  // namespace kgpu::agent
