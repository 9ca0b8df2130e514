#include "src/node/sharing/mps/mps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::sharing {
namespace {

using ::testing::IsSupersetOf;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

SlotPart Slot(unsigned threads, Bytes memory) {
  return {
      .id = "GPU-a::0", .device_uuid = "GPU-a", .limits = {.memory = memory, .threads = threads}};
}

TEST(MpsTest, AContainerGetsTheWayToItsDaemonAndItsLimits) {
  const Access access = kMps.AccessTo(
      std::vector{Slot(25, GibiBytes(20))}, Share{.by = &kMps},
      {.slices = "/var/lib/kgpu/share", .mps = "/run/kgpu/mps", .shared_memory = "/run/kgpu/shm"});
  EXPECT_THAT(access.envs,
              UnorderedElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY", "/usr/lib/kgpu/mps"),
                                   Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"),
                                   Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M")));
  EXPECT_THAT(access.mounts,
              IsSupersetOf({Mount{"/usr/lib/kgpu/mps", "/run/kgpu/mps/GPU-a/pipe", false},
                            Mount{"/dev/shm", "/run/kgpu/shm", false}}));
  EXPECT_EQ(access.mounts.size(), 6U) << "the library, its list, limits and ledger too";
}

TEST(MpsTest, SeveralSlotsAreNoMoreThanTheDevice) {
  const Access access = kMps.AccessTo(std::vector{Slot(70, GibiBytes(1)), Slot(70, GibiBytes(1))},
                                      Share{.by = &kMps}, {});
  EXPECT_EQ(access.envs.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"), "100");
  EXPECT_EQ(access.envs.at("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"), "0=2048M");
}

}  // namespace
}  // namespace kgpu::sharing
