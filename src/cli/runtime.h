// kgpu runtime: container engines that hand GPUs to containers.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddRuntimeVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
