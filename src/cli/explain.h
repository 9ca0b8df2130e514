// `kgpu explain`: why a pod has, or has not, its GPU.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddExplainVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
