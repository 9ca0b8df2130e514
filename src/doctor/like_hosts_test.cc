// Hosts that are well and unlike the others: what looks like a fault is meant so there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "src/doctor/test_well_host.h"

namespace kgpu::doctor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class LikeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!host_.has_nodes()) {
      GTEST_SKIP() << "device nodes can not be made here";
    }
  }

  void Bind(std::string_view gpu, std::string_view driver) const {
    host_.Link(fmt::format("../../../../bus/pci/drivers/{}", driver),
               fmt::format("{}/{}/driver", PortFolder(gpu), gpu));
  }

  const WellHost host_;
};

TEST_F(LikeHostTest, CardsOfVirtualMachinesWantNoDriver) {
  host_.Unload();
  Bind(kGpu, "vfio-pci");
  Bind(kSecondGpu, "vfio-pci");
  host_.Write("etc/modprobe.d/vfio.conf", "blacklist nouveau\nblacklist nvidia\n");
  host_.Write("proc/driver/nvidia/x", "");
  EXPECT_THAT(host_.Troubles(), IsEmpty());
  EXPECT_THAT(host_.Ids(), Contains("pci-gpu-held-by-other-driver").Times(2));
}

TEST_F(LikeHostTest, SoDoCardsThatAreMeantForThem) {
  host_.Unload();
  host_.Write("proc/cmdline", "ro vfio-pci.ids=10de:20B5,10de:1aef quiet\n");
  host_.Write("etc/modprobe.d/vfio.conf", "blacklist nvidia\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
  host_.Write("proc/cmdline", "ro quiet\n");
  EXPECT_THAT(host_.Troubles(), Contains("driver-module-blacklisted"));
  host_.Write("etc/modprobe.d/guests.conf", "options vfio-pci ids=10de:20b5 disable_vga=1\n");
  EXPECT_THAT(host_.Ids(), IsEmpty());
}

TEST_F(LikeHostTest, WhatHoldsVirtualMachinesApartStays) {
  host_.WriteGpu("iommu_group/type", "DMA-FQ\n");
  EXPECT_THAT(host_.Troubles(), Contains("pci-iommu-translates"));
  Bind(kSecondGpu, "vfio-pci");
  EXPECT_THAT(host_.Troubles(), Not(Contains("pci-iommu-translates")));
}

}  // namespace
}  // namespace kgpu::doctor
