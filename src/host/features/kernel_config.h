// A Linux kernel's build configuration: ".config", plain or as /proc/config.gz has it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::features {

// The largest distribution kernels have some 300 KiB of text, 80 of them compressed.
inline constexpr size_t kKernelConfigLimit = size_t{8} << 20;

// Every option that is set, without "CONFIG_", values without quotes: {"SMP", "y"},
// {"LOCALVERSION", "-generic"}. Lines that set nothing are left out.
std::map<std::string, std::string> ParseKernelConfig(std::string_view text);

// Only the options in `names`.
std::map<std::string, std::string> FindKernelOptions(std::string_view text,
                                                     const std::vector<std::string>& names);

// The text in a gzip file. Errors: InvalidArgument (not gzip, damaged, cut off), OutOfRange (more
// than `limit` bytes come out).
StatusOr<std::string> Gunzip(std::string_view bytes, size_t limit = kKernelConfigLimit);

}  // namespace kgpu::features
