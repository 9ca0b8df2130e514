// kgpu validate: the GPUs of this host compute, and their results are checked.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddValidateVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
