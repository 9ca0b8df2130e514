#include "src/node/sharing/slice_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::sharing {
namespace {

using ::testing::ElementsAre;

TEST(SlicePathsTest, FileNamesHaveNoSeparators) {
  EXPECT_EQ(FileOfSlot("GPU-5d::3", kLimitsName), "GPU-5d_3.limits");
  EXPECT_EQ(FileOfSlot("MIG-GPU-5d/1/0::12", kLedgerName), "MIG-GPU-5d_1_0_12.ledger");
}

TEST(SlicePathsTest, OnlyLedgersCanBeWritten) {
  const SlicePaths paths{.folder = "/var/lib/kgpu/share"};
  const std::vector<std::string> slots = {"GPU-a::0", "GPU-b::1"};
  const auto mount = [](const char* container, const char* host, bool is_read_only = true) {
    return Mount{container, host, is_read_only};
  };
  EXPECT_THAT(
      MountsOf(paths, slots, false),
      ElementsAre(
          mount("/usr/lib/kgpu/libkgpu-share.so", "/var/lib/kgpu/share/libkgpu-share.so"),
          mount("/etc/ld.so.preload", "/var/lib/kgpu/share/ld.so.preload"),
          mount("/usr/lib/kgpu/slots/GPU-a_0/limits", "/var/lib/kgpu/share/GPU-a_0.limits"),
          mount("/usr/lib/kgpu/slots/GPU-a_0/ledger", "/var/lib/kgpu/share/GPU-a_0.ledger", false),
          mount("/usr/lib/kgpu/slots/GPU-b_1/limits", "/var/lib/kgpu/share/GPU-b_1.limits"),
          mount("/usr/lib/kgpu/slots/GPU-b_1/ledger", "/var/lib/kgpu/share/GPU-b_1.ledger",
                false)));
}

TEST(SlicePathsTest, AGateIsReadOnly) {
  const std::vector<std::string> slots = {"GPU-a::0"};
  const std::vector<Mount> mounts = MountsOf({.folder = "/share"}, slots, true);
  EXPECT_EQ(mounts.back(), (Mount{.container_path = "/usr/lib/kgpu/slots/GPU-a_0/gate",
                                  .host_path = "/share/GPU-a_0.gate",
                                  .is_read_only = true}));
}

}  // namespace
}  // namespace kgpu::sharing
