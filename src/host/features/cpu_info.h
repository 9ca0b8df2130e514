// /proc/cpuinfo, for CPUs that CPUID says nothing of: Arm's, and x86 where the instruction is not
// to be had. Its first processor stands for all.
#pragma once

#include <string_view>

#include "src/host/features/cpu_model.h"
#include "src/host/features/feature_set.h"

namespace kgpu::features {

struct CpuInfo {
  CpuModel model;
  Flags flags;
};

// Arm: the capabilities of the line "Features" by their kernel names in capitals, and implementer,
// variant and part as vendor, family and model. x86: the flags that have a name in NFD, in its
// spelling. Of any other text: nothing.
CpuInfo ParseCpuInfo(std::string_view text);

}  // namespace kgpu::features
