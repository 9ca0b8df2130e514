// The verb `kgpu devices`.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddDevicesVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
