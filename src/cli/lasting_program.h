// Whether a unit that root's systemd starts may name a program.
#pragma once

#include <string>

namespace kgpu::cli {

// The program and every folder above it are root's and nobody else may write there, and a restart
// of the host leaves them where they are: /usr/local/bin, not /tmp, /run or a home folder. `path`:
// absolute, without links.
bool IsLastingProgram(const std::string& path);

}  // namespace kgpu::cli
