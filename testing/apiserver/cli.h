// The command `kgpu-sim apiserver`.
#pragma once

#include "testing/simhost/cli.h"

namespace kgpu::apiserver {

void AddApiserverVerb(CLI::App& app, simhost::CliContext& context);

}  // namespace kgpu::apiserver
