// A Linux kernel's build configuration: ".config", plain or compressed as in /proc/config.gz.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::features {

// Every option that is set, without "CONFIG_", values without quotes: {"SMP", "y"},
// {"LOCALVERSION", "-generic"}. Skips lines that set nothing.
std::map<std::string, std::string> ParseKernelConfig(std::string_view text);

// Only the options in `names`.
std::map<std::string, std::string> FindKernelOptions(std::string_view text,
                                                     const std::vector<std::string>& names);

}  // namespace kgpu::features
