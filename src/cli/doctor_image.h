// `kgpu doctor image`: does the CUDA of an image run on this host?
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

// A verb below `doctor`.
void AddDoctorImageVerb(VerbRegistrar& verbs, CLI::App& doctor);

}  // namespace kgpu::cli
