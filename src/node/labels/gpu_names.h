// How GPU feature discovery spells its values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/gpu/device/gpu.h"

namespace kgpu::labels {

// A text as a valid label value: keeps letters, digits and "-_.", joins words by "-". "NVIDIA
// A100-SXM4-80GB" → "NVIDIA-A100-SXM4-80GB". Truncated to the longest valid value.
std::string SanitizedValue(std::string_view text);

// "ampere", "ada-lovelace", …; "undefined" if unknown.
std::string_view GpuFamily(const device::ComputeCapability& compute);

// "compute" for a 3D controller, "graphics" for a VGA one, "unknown". `pci_class` is
// Gpu::pci_class.
std::string_view GpuMode(uint32_t pci_class);

}  // namespace kgpu::labels
