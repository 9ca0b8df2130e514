// kgpu status: what the running agent does, and why not more.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddStatusVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
