// `kgpu labels`: what the node tells about itself.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddLabelsVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
