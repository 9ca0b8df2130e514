// kgpu agent: the node's daemon.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddAgentVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
