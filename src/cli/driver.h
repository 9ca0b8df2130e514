// `kgpu driver`: NVIDIA's driver on this host.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddDriverVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
