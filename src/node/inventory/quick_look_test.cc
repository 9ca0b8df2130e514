#include "src/node/inventory/quick_look.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "src/node/inventory/test_host.h"

namespace kgpu::inventory {
namespace {

class QuickLookTest : public ::testing::Test {
 protected:
  QuickLookTest() { host_.AddGpu(0); }
  std::string Look() const { return QuickLook(host_.Open().host); }

  TestHost host_;
};

constexpr char kInstance[] = "proc/driver/nvidia/capabilities/gpu0/mig/gi7";

TEST_F(QuickLookTest, IsTheSameWhileNothingChanges) {
  EXPECT_EQ(Look(), Look());
  EXPECT_FALSE(Look().empty());
}

TEST_F(QuickLookTest, SeesGpusMigAndVersionsChange) {
  std::string before = Look();
  const auto has_changed = [&] {
    const std::string now = Look();
    const bool changed = now != before;
    before = now;
    return changed;
  };
  host_.AddGpu(1);
  EXPECT_TRUE(has_changed());
  host_.dir().MakeDir("proc/driver/nvidia/capabilities/gpu0/mig");  // the mode
  EXPECT_TRUE(has_changed());
  host_.dir().MakeDir(kInstance);
  EXPECT_TRUE(has_changed());
  host_.dir().MakeDir(std::string(kInstance) + "/ci0");
  EXPECT_TRUE(has_changed());
  host_.dir().WriteFile("proc/driver/nvidia/version", "NVRM version: x 550.54.15\n");
  EXPECT_TRUE(has_changed());
  std::filesystem::remove_all(host_.dir().At(kInstance));
  EXPECT_TRUE(has_changed());
}

TEST_F(QuickLookTest, SeesCompanionsInFoldersComeWithoutTheModule) {
  std::filesystem::remove_all(host_.dir().At("proc/driver"));
  for (const std::string folder : {"dev/nvidia-caps-imex-channels", "dev/infiniband"}) {
    host_.dir().MakeDir(folder);
    // Any time but this moment's, which the next entry may have too.
    std::filesystem::last_write_time(
        host_.dir().At(folder),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const std::string before = Look();
    EXPECT_FALSE(before.empty());
    host_.dir().WriteFile(folder + "/entry", "");
    EXPECT_NE(Look(), before);
  }
}

TEST_F(QuickLookTest, IsEmptyWithoutTheModule) {
  std::filesystem::remove_all(host_.dir().At("proc/driver"));
  EXPECT_EQ(Look(), "");
}

}  // namespace
}  // namespace kgpu::inventory
