// How GPUs reach each other: converts NVML's answers to our values. Pure functions.
#pragma once

#include <optional>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/gpu/nvml/abi.h"

namespace kgpu::device {

PciePath PciePathOf(std::optional<nvml::TopologyLevel> level);

// The number of active NVLinks between `a` and `b`: links whose other end is the other GPU or,
// through a switch fabric, the links to switches that both have.
unsigned NvLinksBetween(const Gpu& a, const Gpu& b);

}  // namespace kgpu::device
