// The verb `kgpu sim`: hands over to the program kgpu-sim when it lies beside this one. No line of
// the simulation is in this program.
#pragma once

#include <string>
#include <vector>

#include "src/cli/verb.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

void AddSimVerb(VerbRegistrar& verbs);

// Replaces this process by kgpu-sim with `arguments`; returns only on failure.
// Errors: NotFound (no kgpu-sim beside this program).
Status RunSim(const std::vector<std::string>& arguments);

}  // namespace kgpu::cli
