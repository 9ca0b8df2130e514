// What the gate knows about the agent: pure functions.
#pragma once

#include "src/agent/state.h"
#include "src/node/object/chain.h"

namespace kgpu::agent {

// Without what the API server reports.
node::ChainFacts ChainFactsOf(const AgentState& state);

}  // namespace kgpu::agent
