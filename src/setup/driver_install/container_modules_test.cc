#include "src/setup/driver_install/container_modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ContainerModulesTest, OfTwoTheOneThatDepmodHasChosenIsMeant) {
  const TempDir dir;
  for (const char* path : {"kernel/nvidia.ko", "extra/nvidia.ko", "weak-updates/nvidia.ko"}) {
    dir.WriteFile(fmt::format("lib/modules/6.1/{}", path), "");
  }
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(FindModules(*root, "6.1"),
              ElementsAre(Pair("nvidia", "/lib/modules/6.1/weak-updates/nvidia.ko")));
  dir.WriteFile("lib/modules/6.1/modules.dep", "kernel/video.ko:\nextra/nvidia.ko: x.ko\n");
  EXPECT_THAT(FindModules(*root, "6.1"),
              ElementsAre(Pair("nvidia", "/lib/modules/6.1/extra/nvidia.ko")));
  dir.WriteFile("lib/modules/6.1/modules.dep", "updates/nvidia.ko:\n");
  EXPECT_THAT(FindModules(*root, "6.1"),
              ElementsAre(Pair("nvidia", "/lib/modules/6.1/weak-updates/nvidia.ko")))
      << "the list is of another tree";
}

TEST(ContainerModulesTest, KnowsTheNamesThatPackagesGive) {
  EXPECT_EQ(ModuleOf("nvidia.ko"), "nvidia");
  EXPECT_EQ(ModuleOf("nvidia-current-open.ko.xz"), "nvidia");
  EXPECT_EQ(ModuleOf("nvidia-current-uvm.ko.zst"), "nvidia_uvm");
  EXPECT_EQ(ModuleOf("nvidia-modeset.ko"), "nvidia_modeset");
  EXPECT_EQ(ModuleOf("nvidia-fs.ko"), "");
  EXPECT_EQ(ModuleOf("nvidia-current.conf"), "");
  EXPECT_EQ(ModuleOf("nouveau.ko"), "");
}

}  // namespace
}  // namespace kgpu::driver_install
