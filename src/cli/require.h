// kgpu require: does a host have what an image asks for?
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

void AddRequireVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
