// `kgpu driver install`, `remove`, `rollback` and `verify`.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

// Adds them to the group `kgpu driver`.
void AddDriverInstallVerbs(CLI::App& group, VerbRegistrar& verbs);

}  // namespace kgpu::cli
