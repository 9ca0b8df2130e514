#include "src/gpu/device/topology.h"

#include <algorithm>

namespace kgpu::device {
namespace {

unsigned SwitchLinks(const Gpu& gpu) {
  return static_cast<unsigned>(std::ranges::count_if(gpu.nvlinks, [](const NvLink& link) {
    return link.is_active && link.peer == NvLinkPeer::kSwitch;
  }));
}

}  // namespace

PciePath PciePathOf(std::optional<nvml::TopologyLevel> level) {
  if (!level) {
    return PciePath::kUnknown;
  }
  switch (*level) {
    case nvml::kTopologyInternal:
      return PciePath::kSameBoard;
    case nvml::kTopologySingle:
      return PciePath::kSingleSwitch;
    case nvml::kTopologyMultiple:
      return PciePath::kMultipleSwitches;
    case nvml::kTopologyHostBridge:
      return PciePath::kHostBridge;
    case nvml::kTopologyNode:
      return PciePath::kSameNuma;
    case nvml::kTopologySystem:
      return PciePath::kCrossNuma;
  }
  return PciePath::kUnknown;
}

unsigned NvLinksBetween(const Gpu& a, const Gpu& b) {
  const auto direct = std::ranges::count_if(a.nvlinks, [&](const NvLink& link) {
    return link.is_active && link.peer != NvLinkPeer::kSwitch && link.remote == b.pci;
  });
  return static_cast<unsigned>(direct) + std::min(SwitchLinks(a), SwitchLinks(b));
}

}  // namespace kgpu::device
