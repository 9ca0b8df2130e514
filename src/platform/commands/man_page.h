// Manual pages of every command, in roff's man macros.
#pragma once

#include <string>
#include <vector>

#include "src/platform/commands/command.h"

namespace kgpu::commands {

struct ManPage {
  std::string name;  // "kgpu-driver-plan"
  std::string text;
};

// One page for `root` and one for each command below it. `source` is printed at the foot of each
// page: "kgpu 0.1.0".
std::vector<ManPage> ManPagesOf(const Command& root, const std::string& source);

}  // namespace kgpu::commands
