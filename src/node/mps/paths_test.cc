#include "src/node/mps/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::mps {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(MpsPathsTest, AContainerGetsTheWayToItsDaemonAndItsLimits) {
  const Access access = AccessTo({.folder = "/run/kgpu/mps", .shared_memory = "/run/kgpu/shm"},
                                 {.device_uuid = "GPU-a", .threads = 25, .memory = GibiBytes(20)});
  EXPECT_THAT(access.envs,
              UnorderedElementsAre(Pair("CUDA_MPS_PIPE_DIRECTORY", "/usr/lib/kgpu/mps"),
                                   Pair("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "25"),
                                   Pair("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "0=20480M")));
  EXPECT_THAT(access.mounts,
              ElementsAre(share::SliceMount{"/usr/lib/kgpu/mps", "/run/kgpu/mps/GPU-a/pipe", false},
                          share::SliceMount{"/dev/shm", "/run/kgpu/shm", false}));
}

TEST(MpsPathsTest, SeveralSlotsAreNoMoreThanTheDevice) {
  EXPECT_EQ(AccessTo({}, {.device_uuid = "GPU-a", .threads = 140, .memory = GibiBytes(1)})
                .envs.at("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"),
            "100");
}

}  // namespace
}  // namespace kgpu::mps
