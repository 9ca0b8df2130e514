// Finds programs of a host without a shell.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::sys {

// The path of a program in the folders that distributions use: "/usr/bin/dockerd"; empty if there
// is none. Ignores $PATH, which is ours and not the host's.
std::string FindProgram(const Root& host, std::string_view name);

}  // namespace kgpu::sys
