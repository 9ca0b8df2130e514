// Programs of a host, found without a shell.
#pragma once

#include <string>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::sys {

// The path of a program in the folders where distributions put them: "/usr/bin/dockerd"; empty
// where there is none. $PATH is not asked: it is ours, not the host's.
std::string FindProgram(const Root& host, std::string_view name);

}  // namespace kgpu::sys
