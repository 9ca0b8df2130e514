#include "src/host/inspect/companion_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using device::Companion;
using device::CompanionNode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CompanionNodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!dir_.MakeCharDevice("dev/nvidiactl", 195, 255)) {
      GTEST_SKIP() << "making device nodes is not permitted here";
    }
  }
  std::vector<CompanionNode> Read() const {
    const auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    return ReadCompanionNodes(*root);
  }
  TempDir dir_;
};

TEST_F(CompanionNodesTest, NoneIsThere) {
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(CompanionNodesTest, ChannelsAreSortedByNumberNotByName) {
  dir_.MakeCharDevice("dev/nvidia-caps-imex-channels/channel10", 508, 10);
  dir_.MakeCharDevice("dev/nvidia-caps-imex-channels/channel2", 508, 2);
  EXPECT_THAT(Read(),
              ElementsAre(CompanionNode{Companion::kImexChannel, 2,
                                        "/dev/nvidia-caps-imex-channels/channel2", 508, 2},
                          CompanionNode{Companion::kImexChannel, 10,
                                        "/dev/nvidia-caps-imex-channels/channel10", 508, 10}));
}

TEST_F(CompanionNodesTest, FindsStorageCopyAndCards) {
  dir_.MakeCharDevice("dev/nvidia-fs0", 507, 0);
  dir_.MakeCharDevice("dev/nvidia-fs1", 507, 1);
  dir_.MakeCharDevice("dev/gdrdrv", 506, 0);
  dir_.MakeCharDevice("dev/infiniband/uverbs0", 231, 192);
  dir_.MakeCharDevice("dev/infiniband/rdma_cm", 10, 58);
  dir_.MakeCharDevice("dev/infiniband/umad0", 231, 0);
  EXPECT_THAT(
      Read(),
      ElementsAre(CompanionNode{Companion::kGds, 0, "/dev/nvidia-fs0", 507, 0},
                  CompanionNode{Companion::kGds, 1, "/dev/nvidia-fs1", 507, 1},
                  CompanionNode{Companion::kGdrcopy, 0, "/dev/gdrdrv", 506, 0},
                  CompanionNode{Companion::kMofed, 0, "/dev/infiniband/rdma_cm", 10, 58},
                  CompanionNode{Companion::kMofed, 0, "/dev/infiniband/uverbs0", 231, 192}));
}

TEST_F(CompanionNodesTest, AConnectionManagerWithoutACardIsNothing) {
  dir_.MakeCharDevice("dev/infiniband/rdma_cm", 10, 58);
  EXPECT_THAT(Read(), IsEmpty());
}

TEST_F(CompanionNodesTest, FilesAndLinksAreNoNodes) {
  dir_.WriteFile("dev/gdrdrv", "");
  dir_.Symlink("nvidiactl", "dev/nvidia-fs0");
  dir_.WriteFile("dev/infiniband", "");
  EXPECT_THAT(Read(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::host
