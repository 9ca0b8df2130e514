// `kgpu doctor manifest`: what is old or wrong in manifests, and the modern ones.
#pragma once

#include "src/cli/verb.h"

namespace kgpu::cli {

// A verb below `doctor`.
void AddDoctorManifestVerb(VerbRegistrar& verbs, CLI::App& doctor);

}  // namespace kgpu::cli
