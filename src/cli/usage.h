// The verb `kgpu usage`.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddUsageVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
