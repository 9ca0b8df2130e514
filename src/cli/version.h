// The verb `kgpu version` and the text of --version.
#pragma once

#include <string>

#include "src/cli/verb.h"

namespace kgpu::cli {

// "0.1.0"
std::string VersionNumber();
// "kgpu 0.1.0"
std::string VersionText();

void AddVersionVerb(VerbRegistrar& verbs);

}  // namespace kgpu::cli
