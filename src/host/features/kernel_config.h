// A Linux kernel's build configuration: ".config", plain or as /proc/config.gz has it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::features {

// Every option that is set, without "CONFIG_", values without quotes: {"SMP", "y"},
// {"LOCALVERSION", "-generic"}. Lines that set nothing are left out.
std::map<std::string, std::string> ParseKernelConfig(std::string_view text);

// Only the options in `names`.
std::map<std::string, std::string> FindKernelOptions(std::string_view text,
                                                     const std::vector<std::string>& names);

}  // namespace kgpu::features
