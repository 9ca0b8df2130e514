// Lists of CPUs as sysfs writes them: "0-3,8,10-11".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kgpu::features {

// Limit for CPU numbers; sysfs has no higher ones (the kernel's largest NR_CPUS).
inline constexpr unsigned kMostCpus = 8192;

// The number at the end of a name such as "cpu12" or "policy12"; nothing for "cpufreq".
std::optional<unsigned> NumberedCpu(std::string_view name, std::string_view prefix);

// One bit per CPU in `text`; ignores anything that is no list of numbers below kMostCpus.
std::vector<bool> ParseCpuList(std::string_view text);

}  // namespace kgpu::features
