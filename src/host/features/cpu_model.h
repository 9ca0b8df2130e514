// Vendor, family and model of an x86 CPU, and whose virtual machine it is, by the names that Node
// Feature Discovery has for them.
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

// Of leaves 0 and 1; the second counts only when the first says that it is there.
CpuModel ParseCpuModel(const CpuidRegisters& zero, const CpuidRegisters& one);

// The vendor that a signature of twelve letters means: "Intel" for "GenuineIntel"; "VendorUnknown"
// for one that is in no list.
std::string_view VendorOfSignature(std::string_view signature);

// "kvm", "vmware", … of leaf 0x40000000; a signature that is in no list with "_" for what a label
// cannot have; "unknown" when there is none.
std::string ParseHypervisor(const CpuidRegisters& leaf);

}  // namespace kgpu::features
