// The verbs `kgpu cdi generate`, `list` and `check`.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddCdiVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
