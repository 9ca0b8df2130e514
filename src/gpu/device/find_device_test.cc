#include "src/gpu/device/find_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::device {
namespace {

using ::testing::HasSubstr;

constexpr char kGpuUuid[] = "GPU-6e3c3c1e-0c9e-5e6c-8b0e-7a0f6c1c0000";
constexpr char kMigUuid[] = "MIG-6e3c3c1e-0c9e-5e6c-8b0e-7a0f6c1c0001";

class FindDeviceTest : public ::testing::Test {
 protected:
  FindDeviceTest() {
    Gpu& gpu = snapshot_.gpus.emplace_back();
    gpu.uuid = GpuUuid::Parse(kGpuUuid).value();
    gpu.pci = PciBusId::Parse("0000:41:00.0").value();
    gpu.index = 3;
    MigDevice& mig = gpu.mig_devices.emplace_back();
    mig.uuid = MigUuid::Parse(kMigUuid).value();
    mig.index = 1;
  }

  Snapshot snapshot_;
};

TEST_F(FindDeviceTest, TakesEveryNameThatTheTableOfDevicesPrints) {
  for (const char* name : {kGpuUuid, "3", "0000:41:00.0"}) {
    const auto found = FindDevice(snapshot_, name);
    ASSERT_OK(found) << name;
    EXPECT_EQ(found->gpu, snapshot_.gpus.data()) << name;
    EXPECT_EQ(found->mig, nullptr) << name;
  }
  for (const char* name : {kMigUuid, "3:1"}) {
    const auto found = FindDevice(snapshot_, name);
    ASSERT_OK(found) << name;
    EXPECT_EQ(found->mig, snapshot_.gpus[0].mig_devices.data()) << name;
  }
}

TEST_F(FindDeviceTest, ADeviceThatDoesNotExistIsNotFound) {
  for (const char* name : {"0", "3:0", "0:1", "GPU-6e3c3c1e-0c9e-5e6c-8b0e-7a0f6c1c0009"}) {
    EXPECT_THAT(FindDevice(snapshot_, name), StatusIs(StatusCode::kNotFound)) << name;
  }
}

TEST_F(FindDeviceTest, WhatIsNoNameIsRefusedWithTheFormsThatAre) {
  for (const char* name : {"", "first", "3:", ":1", "3:1:2"}) {
    EXPECT_THAT(FindDevice(snapshot_, name),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("0:1 for a MIG device")))
        << name;
  }
}

}  // namespace
}  // namespace kgpu::device
