// kgpu health …: how the GPUs are, what is wrong and what mends it, and what happened before.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddHealthVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
