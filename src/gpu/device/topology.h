// How GPUs reach each other: NVML's answers as our values. Pure.
#pragma once

#include <optional>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/nvml/abi.h"

namespace kgpu::device {

PciePath PciePathOf(std::optional<nvml::TopologyLevel> level);

// Active NVLinks that connect `a` and `b`: those whose other end is the other GPU, or, through a
// switch fabric, the links to switches that both have.
unsigned NvLinksBetween(const Gpu& a, const Gpu& b);

}  // namespace kgpu::device
