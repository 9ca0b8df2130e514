// /proc/cpuinfo, for CPUs without CPUID: Arm's, and x86 where the instruction is unavailable. Only
// its first processor is read.
#pragma once

#include <string_view>

#include "src/host/features/cpu_model.h"
#include "src/host/features/feature_set.h"

namespace kgpu::features {

struct CpuInfo {
  CpuModel model;
  Flags flags;
};

// Arm: the capabilities in the line "Features", by their kernel names in capitals; implementer,
// variant and part as vendor, family and model. x86: the flags that NFD has a name for, in its
// spelling. Any other text: nothing.
CpuInfo ParseCpuInfo(std::string_view text);

}  // namespace kgpu::features
