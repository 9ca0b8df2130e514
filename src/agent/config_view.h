// `kgpu config show`: the configuration that the agent runs, and why. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <string>

#include "src/agent/state.h"

namespace kgpu::agent {

// Field names are part of the interface: docs/reference/configuration.md.
boost::json::value ConfigJson(const AgentState& state);
// Lines about the choice, then the whole configuration as YAML.
std::string ConfigTable(const AgentState& state);

}  // namespace kgpu::agent
