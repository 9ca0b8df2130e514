// What an x86 CPU can do, out of its CPUID leaves, under the names that Node Feature Discovery
// publishes. Sources: Intel SDM volume 2A "CPUID", AMD APM volume 3 appendix E and the processor
// programming references, x86-64 psABI (levels); docs/reference/node-features.md says what differs.
#pragma once

#include <cstdint>
#include <string>

#include "src/host/features/cpu_leaves.h"
#include "src/host/features/feature_set.h"

namespace kgpu::features {

// All flags, X86_64_V1 … V4 included.
Flags CpuFlags(const CpuLeaves& leaves);

// Adds X86_64_V1 … as far as `flags` have what each level asks for.
void AddX86Levels(Flags& flags);

// Resource director technology: what can be monitored and allotted.
Flags RdtFlags(const CpuLeaves& leaves);

// "none" on bare metal, else whose virtual machine it is: see ParseHypervisor.
std::string Hypervisor(const CpuLeaves& leaves);

// Whether this is a guest of Intel's TDX.
bool IsTdxGuest(const CpuLeaves& leaves);

// Version of the AVX10 instruction set; 0 without it.
unsigned Avx10Version(const CpuLeaves& leaves);

// Bytes of memory that SGX has for enclaves; 0 when it has none or is off.
uint64_t SgxMemory(const CpuLeaves& leaves);

// The frequency that the CPU is sold with, in MHz; 0 when it does not say.
unsigned NominalMhz(const CpuLeaves& leaves);

}  // namespace kgpu::features
