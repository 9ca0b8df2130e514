// `kgpu doctor`: what is wrong with this host, and what mends it.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddDoctorVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
