// The commands of `kgpu fn`, a file of each name: every function adds its command to the group.
// fn.cc lists them.
#pragma once

#include "src/cli/command_registrar.h"

namespace kgpu::cli {}  // namespace kgpu::cli
