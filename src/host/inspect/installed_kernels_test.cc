#include "src/host/inspect/installed_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A host with kernels below lib/modules.
class InstalledKernelsTest : public ::testing::Test {
 protected:
  void AddKernel(const std::string& release, const std::string& module) {
    dir_.WriteFile("lib/modules/" + release + "/modules.builtin", "kernel/fs/ext4/ext4.ko\n");
    dir_.WriteFile("lib/modules/" + release + "/modules.dep",
                   "kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz:\n" +
                       (module.empty() ? "" : module + ": kernel/drivers/i2c.ko\n"));
  }
  std::vector<InstalledKernel> Read() const {
    return ReadInstalledKernels(*sys::Root::Open(dir_.path()));
  }
  std::string Next(const std::string& running) const {
    const auto kernels = Read();
    const InstalledKernel* next = NextWithoutDriver(kernels, running);
    return next == nullptr ? "" : next->release;
  }

  TempDir dir_;
};

TEST_F(InstalledKernelsTest, AreOrderedByAge) {
  AddKernel("6.1.0-56-amd64", "");
  AddKernel("6.1.0-9-amd64", "updates/dkms/nvidia-current.ko");
  AddKernel("5.10.0-30-amd64", "updates/dkms/nvidia.ko.zst");
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/build/Makefile", "");
  EXPECT_THAT(
      Read(),
      ElementsAre(
          InstalledKernel{"5.10.0-30-amd64",
                          "/lib/modules/5.10.0-30-amd64/updates/dkms/nvidia.ko.zst", false},
          InstalledKernel{"6.1.0-9-amd64",
                          "/lib/modules/6.1.0-9-amd64/updates/dkms/nvidia-current.ko", true},
          InstalledKernel{"6.1.0-56-amd64", "", false}));
}

TEST_F(InstalledKernelsTest, WhatOtherPackagesLeftIsNoKernel) {
  dir_.WriteFile("lib/modules/6.1.0-9-amd64/updates/dkms/zfs.ko", "");
  dir_.WriteFile("lib/modules/extra/modules.builtin", "");
  EXPECT_THAT(Read(), IsEmpty());
  dir_.WriteFile("boot/vmlinuz-6.1.0-9-amd64", "");
  EXPECT_EQ(Read().size(), 1U);
}

TEST_F(InstalledKernelsTest, CompanionsOfTheDriverAreNotTheDriver) {
  AddKernel("6.1.0-9-amd64", "updates/dkms/nvidia-current-uvm.ko");
  EXPECT_EQ(Read().front().nvidia_file, "");
  EXPECT_TRUE(IsDriverModule("nvidia_tesla_470"));
  EXPECT_FALSE(IsDriverModule("nvidia_drm"));
}

TEST_F(InstalledKernelsTest, TheNextStartLosesTheDriverOfThisOne) {
  AddKernel("6.1.0-55-amd64", "updates/dkms/nvidia.ko");
  EXPECT_EQ(Next("6.1.0-55-amd64"), "");
  AddKernel("6.1.0-56-amd64", "");
  EXPECT_EQ(Next("6.1.0-55-amd64"), "6.1.0-56-amd64");
  AddKernel("6.1.0-57-amd64", "updates/dkms/nvidia.ko");
  EXPECT_EQ(Next("6.1.0-55-amd64"), "") << "the newest is taken";
}

TEST_F(InstalledKernelsTest, WhereNoneHasADriverNoneIsLost) {
  AddKernel("6.1.0-55-amd64", "");
  AddKernel("6.1.0-56-amd64", "");
  EXPECT_EQ(Next("6.1.0-55-amd64"), "");
  EXPECT_EQ(Next("6.1.0-1-amd64"), "");
}

TEST(IsOlderKernelTest, TakesNumbersAsNumbers) {
  EXPECT_TRUE(IsOlderKernel("6.1.0-9-amd64", "6.1.0-56-amd64"));
  EXPECT_FALSE(IsOlderKernel("6.1.0-56-amd64", "6.1.0-9-amd64"));
  EXPECT_TRUE(IsOlderKernel("6.1.0", "6.1.0-1"));
  EXPECT_FALSE(IsOlderKernel("6.1.0", "6.1.0"));
}

}  // namespace
}  // namespace kgpu::host
