// This process's environment as a value, for code that looks things up in it.
#pragma once

#include <string>
#include <vector>

namespace kgpu::cli {

// "NAME=value" each. Source: environ(7).
std::vector<std::string> Environment();

}  // namespace kgpu::cli
