// How GPU feature discovery spells what it finds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/gpu/device/gpu.h"

namespace kgpu::labels {

// A text as it may stand in a label's value: only letters, digits and "-_." stay, words are joined
// by "-". "NVIDIA A100-SXM4-80GB" → "NVIDIA-A100-SXM4-80GB". Cut to what a value may hold.
std::string SanitizedValue(std::string_view text);

// "ampere", "ada-lovelace", …; "undefined" for one that is not known.
std::string_view GpuFamily(const device::ComputeCapability& compute);

// "compute" for a 3D controller, "graphics" for a VGA one, "unknown". `pci_class` as
// Gpu::pci_class.
std::string_view GpuMode(uint32_t pci_class);

}  // namespace kgpu::labels
