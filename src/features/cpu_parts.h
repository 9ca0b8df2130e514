// The pieces that the source "cpu" is put together of, one file each.
#pragma once

#include "src/features/cpu_leaves.h"
#include "src/features/source.h"

namespace kgpu::features {

// cpu.topology: threads, sockets, kinds of cores.
void ReadTopology(const Source& source);

// cpu.cstate and cpu.pstate: what Intel's drivers do about idling and frequencies; cpu.sst: whether
// some cores have a higher base frequency than `nominal_mhz`, 0 for not known.
void ReadPower(const Source& source, unsigned nominal_mhz);

// cpu.security: SGX, TDX, SEV, Secure Execution. `leaves` is null without CPUID.
void ReadSecurity(const Source& source, const CpuLeaves* leaves);

}  // namespace kgpu::features
