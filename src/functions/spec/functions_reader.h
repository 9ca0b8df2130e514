// Private to the module: the reader behind ParseFunctionsFile.
#pragma once

#include "src/functions/spec/function.h"
#include "src/node/config/tree_reader.h"

namespace kgpu::functions {

// Reports errors to `problems`, which must be those of `root`.
FunctionsFile ReadFunctionsFile(const config::Node& root, config::Problems& problems);

}  // namespace kgpu::functions
