#include "src/node/mps/find_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "testing/test_host.h"

namespace kgpu::mps {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FindControlProgramTest, FollowsLinksWithinTheDriversRoot) {
  const TestHost host;
  host.InstallRhel();
  const TempDir& dir = host.dir();
  host.AddProgram("usr/lib/nvidia/current/nvidia-cuda-mps-control");
  dir.Symlink("/etc/alternatives/nvidia--mps", "usr/bin/nvidia-cuda-mps-control");
  dir.Symlink("/usr/lib/nvidia/current/nvidia-cuda-mps-control", "etc/alternatives/nvidia--mps");
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  const auto program = FindControlProgram(*root, dir.At("run/lib"));
  ASSERT_OK(program);
  EXPECT_EQ(program->path, dir.At("usr/lib/nvidia/current/nvidia-cuda-mps-control"));
  EXPECT_THAT(program->environment, Contains(StartsWith("PATH=" + dir.At("usr/lib/nvidia/current") +
                                                        ":" + dir.At("usr/bin") + ":")));
  EXPECT_THAT(program->environment, Contains("LD_LIBRARY_PATH=" + dir.At("run/lib")));
}

TEST(FindControlProgramTest, SaysWhichPackageHasIt) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(FindControlProgram(*root, dir.At("run/lib")),
              StatusIs(StatusCode::kNotFound, HasSubstr("nvidia-compute-utils")));
}

TEST(ServesAllUsersTest, DependsOnTheDriver) {
  EXPECT_TRUE(ServesAllUsers("550.54.15"));
  EXPECT_TRUE(ServesAllUsers("580.65"));
  EXPECT_FALSE(ServesAllUsers("535.104.05"));
  EXPECT_FALSE(ServesAllUsers(""));
}

}  // namespace
}  // namespace kgpu::mps
