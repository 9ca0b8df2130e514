// The verbs `kgpu config check`, `print`, `convert` and `assign`.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddConfigVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
