// The version of this program.
#pragma once

#include <string>

namespace kgpu::cli {

// "0.1.0"
std::string VersionNumber();
// "kgpu 0.1.0"
std::string VersionText();

}  // namespace kgpu::cli
