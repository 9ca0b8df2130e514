// The parts of the source "cpu", one file each.
#pragma once

#include <vector>

#include "src/host/features/cpu_leaves.h"
#include "src/host/features/source.h"

namespace kgpu::features {

// The package of each CPU, from 1 on; 0 if unknown or offline.
using PackageOfCpu = std::vector<unsigned>;

// cpu.topology: threads, sockets, kinds of cores.
PackageOfCpu ReadTopology(const Source& source);

// cpu.cstate and cpu.pstate: what Intel's drivers do about idling and frequencies; cpu.sst: whether
// some cores have a higher base frequency than `nominal_mhz` (0: unknown).
void ReadPower(const Source& source, unsigned nominal_mhz, const PackageOfCpu& packages);

// cpu.security: SGX, TDX, SEV, Secure Execution. `leaves` is null without CPUID.
void ReadSecurity(const Source& source, const CpuLeaves* leaves);

}  // namespace kgpu::features
