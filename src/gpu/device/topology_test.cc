#include "src/gpu/device/topology.h"

#include <gtest/gtest.h>

namespace kgpu::device {
namespace {

Gpu GpuAt(uint8_t bus) {
  Gpu gpu;
  gpu.pci.bus = bus;
  return gpu;
}

void AddLink(Gpu& gpu, NvLinkPeer peer, const PciBusId& remote, bool is_active = true) {
  gpu.nvlinks.push_back({.link = static_cast<unsigned>(gpu.nvlinks.size()),
                         .is_active = is_active,
                         .version = 3,
                         .peer = peer,
                         .remote = remote});
}

TEST(TopologyTest, MapsEveryLevel) {
  EXPECT_EQ(PciePathOf(nvml::kTopologyInternal), PciePath::kSameBoard);
  EXPECT_EQ(PciePathOf(nvml::kTopologySingle), PciePath::kSingleSwitch);
  EXPECT_EQ(PciePathOf(nvml::kTopologyMultiple), PciePath::kMultipleSwitches);
  EXPECT_EQ(PciePathOf(nvml::kTopologyHostBridge), PciePath::kHostBridge);
  EXPECT_EQ(PciePathOf(nvml::kTopologyNode), PciePath::kSameNuma);
  EXPECT_EQ(PciePathOf(nvml::kTopologySystem), PciePath::kCrossNuma);
  EXPECT_EQ(PciePathOf(std::nullopt), PciePath::kUnknown);
}

TEST(TopologyTest, CountsActiveLinksStraightToThePeer) {
  Gpu a = GpuAt(1);
  const Gpu b = GpuAt(2);
  AddLink(a, NvLinkPeer::kGpu, b.pci);
  AddLink(a, NvLinkPeer::kUnknown, b.pci);  // drivers without the call for the kind of the end
  AddLink(a, NvLinkPeer::kGpu, b.pci, /*is_active=*/false);
  AddLink(a, NvLinkPeer::kGpu, GpuAt(3).pci);
  EXPECT_EQ(NvLinksBetween(a, b), 2U);
}

TEST(TopologyTest, CountsLinksThroughASwitchFabricThatBothHave) {
  Gpu a = GpuAt(1);
  Gpu b = GpuAt(2);
  for (int i = 0; i < 12; ++i) {
    AddLink(a, NvLinkPeer::kSwitch, GpuAt(0xc0).pci);
  }
  EXPECT_EQ(NvLinksBetween(a, b), 0U);
  for (int i = 0; i < 10; ++i) {
    AddLink(b, NvLinkPeer::kSwitch, GpuAt(0xc1).pci);
  }
  EXPECT_EQ(NvLinksBetween(a, b), 10U);
  EXPECT_EQ(NvLinksBetween(b, a), 10U);
}

}  // namespace
}  // namespace kgpu::device
