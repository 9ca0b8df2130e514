// Vendor, family and model of an x86 CPU, and its hypervisor, by the names that Node Feature
// Discovery uses.
#pragma once

#include <string>
#include <string_view>

#include "src/host/features/cpuid.h"

namespace kgpu::features {

struct CpuModel {
  std::string vendor = "VendorUnknown";  // "Intel", "AMD", …
  unsigned family = 0;
  unsigned model = 0;
  bool operator==(const CpuModel&) const = default;
};

// From leaves 0 and 1; leaf 1 is only used if leaf 0 says that it exists.
CpuModel ParseCpuModel(const CpuidRegisters& zero, const CpuidRegisters& one);

// The vendor for a signature of twelve letters: "Intel" for "GenuineIntel"; "VendorUnknown" for an
// unlisted one.
std::string_view VendorOfSignature(std::string_view signature);

// "kvm", "vmware", … from leaf 0x40000000; an unlisted signature, with "_" for characters that a
// label cannot have; "unknown" if there is none.
std::string ParseHypervisor(const CpuidRegisters& leaf);

}  // namespace kgpu::features
