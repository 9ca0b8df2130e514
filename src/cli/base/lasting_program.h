// Whether a unit of the system's systemd may run a program.
#pragma once

#include <string>

namespace kgpu::cli {

// Root owns the program and every folder above it, nobody else may write there, and they survive a
// restart of the host: /usr/local/bin, but not /tmp, /run or a home folder. `path`: absolute,
// without links.
bool IsLastingProgram(const std::string& path);

}  // namespace kgpu::cli
