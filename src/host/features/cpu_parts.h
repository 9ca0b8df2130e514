// The pieces that the source "cpu" is put together of, one file each.
#pragma once

#include <vector>

#include "src/host/features/cpu_leaves.h"
#include "src/host/features/source.h"

namespace kgpu::features {

// The package that each CPU is in, from 1 on; 0 for one that is not known or switched off.
using PackageOfCpu = std::vector<unsigned>;

// cpu.topology: threads, sockets, kinds of cores.
PackageOfCpu ReadTopology(const Source& source);

// cpu.cstate and cpu.pstate: what Intel's drivers do about idling and frequencies; cpu.sst: whether
// some cores have a higher base frequency than `nominal_mhz`, 0 for not known.
void ReadPower(const Source& source, unsigned nominal_mhz, const PackageOfCpu& packages);

// cpu.security: SGX, TDX, SEV, Secure Execution. `leaves` is null without CPUID.
void ReadSecurity(const Source& source, const CpuLeaves* leaves);

}  // namespace kgpu::features
