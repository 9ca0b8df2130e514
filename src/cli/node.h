// kgpu node: the Node object of this host: whether it is ready, and what people change by hand.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddNodeVerbs(VerbRegistrar& verbs);

}  // namespace kgpu::cli
