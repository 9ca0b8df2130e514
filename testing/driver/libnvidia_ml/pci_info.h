// A PCI address in NVML's two structures.
#pragma once

#include "testing/driver/nvml_abi_more.h"
#include "testing/driver/state_gpu.h"

namespace kgpu::sim {

void FillPciInfo(const SimPci& pci, nvml::PciInfo* out);
void FillPciInfo(const SimPci& pci, nvml::PciInfoV2* out);

}  // namespace kgpu::sim
