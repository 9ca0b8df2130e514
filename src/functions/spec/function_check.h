// Whether a Function is one that config.yaml could describe: for functions that were changed by
// flags, or read from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// Fields that are valid alone but not together: "replicas.min: 3 must be at most replicas.max, 1".
std::vector<std::string> ConflictsIn(const Function& function);

// Errors: InvalidArgument, a line for each problem: "function hello: concurrency: …".
Status CheckFunction(const Function& function);

}  // namespace kgpu::functions
