// kgpu node up and down: a bare host becomes a GPU node, and back.
#pragma once

#include "src/cli/verb.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace kgpu::cli {

void AddNodeUpVerbs(VerbRegistrar& verbs, CLI::App& group);

}  // namespace kgpu::cli
