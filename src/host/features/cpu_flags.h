// The features of an x86 CPU, from CPUID, under the names that Node Feature Discovery publishes.
// Sources: Intel SDM volume 2A "CPUID", AMD APM volume 3 appendix E and the processor programming
// references, x86-64 psABI (levels); docs/reference/node-features.md lists differences.
#pragma once

#include <cstdint>
#include <string>

#include "src/host/features/cpu_leaves.h"
#include "src/host/features/feature_set.h"

namespace kgpu::features {

// All flags, including X86_64_V1 … V4.
Flags CpuFlags(const CpuLeaves& leaves);

// Adds each X86_64_V1 … whose requirements `flags` meets.
void AddX86Levels(Flags& flags);

// Resource director technology: what can be monitored and allocated.
Flags RdtFlags(const CpuLeaves& leaves);

// "none" on bare metal, else the name of the hypervisor: see ParseHypervisor.
std::string Hypervisor(const CpuLeaves& leaves);

// Whether this is an Intel TDX guest.
bool IsTdxGuest(const CpuLeaves& leaves);

// The AVX10 version; 0 without AVX10.
unsigned Avx10Version(const CpuLeaves& leaves);

// Bytes of memory that SGX has for enclaves; 0 if it has none or is off.
uint64_t SgxMemory(const CpuLeaves& leaves);

// The CPU's nominal frequency in MHz; 0 if it is not reported.
unsigned NominalMhz(const CpuLeaves& leaves);

}  // namespace kgpu::features
