// Questions about images for other commands of `kgpu fn`.
#pragma once

#include <string>

#include "src/cli/fn/fn_engine.h"
#include "src/functions/spec/function.h"

namespace kgpu::cli {

// A note for people if the sources of `function`, of the file `config`, have changed since its
// image was built on this host; empty: they have not, or that is unknown. Blocks for a second at
// most.
std::string OutdatedImageNote(const functions::Function& function, const std::string& config,
                              const FnEngineOptions& engine);

}  // namespace kgpu::cli
