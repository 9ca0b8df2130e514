// What the gate knows about the agent: pure.
#pragma once

#include "src/agent/state.h"
#include "src/node/object/chain.h"

namespace kgpu::agent {

// Without what the API server says.
node::ChainFacts ChainFactsOf(const AgentState& state);

}  // namespace kgpu::agent
