#include "src/setup/driver_install/container_headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <utility>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {
namespace {

class LinkHeadersTest : public ::testing::Test {
 protected:
  LinkHeadersTest()
      : host_(Opened("host")),
        container_(Opened("container")),
        disk_(container_, sys::Durability::kMemory) {}

  sys::Root Opened(const std::string& name) const {
    dir_.MakeDir(name);
    auto root = sys::Root::Open(dir_.At(name));
    return *std::move(root);
  }
  StatusOr<bool> Link() { return LinkHeaders(host_, container_, disk_, "6.1"); }

  TempDir dir_;
  sys::Root host_;
  sys::Root container_;
  change::HostDisk disk_;
};

TEST_F(LinkHeadersTest, TheHostsHeadersAreSeenInTheContainer) {
  dir_.WriteFile("host/usr/src/linux-headers-6.1/Makefile", "make");
  dir_.WriteFile("host/usr/lib/linux-kbuild-6.1/scripts", "");
  dir_.Symlink("/usr/src/linux-headers-6.1", "host/lib/modules/6.1/build");
  for (int turn = 0; turn < 2; ++turn) {
    const auto linked = Link();
    ASSERT_OK(linked);
    EXPECT_TRUE(*linked);
  }
  EXPECT_EQ(dir_.ReadFile("container/lib/modules/6.1/build/Makefile"), "make");
  EXPECT_EQ(dir_.ReadFile("container/usr/src/linux-headers-6.1/Makefile"), "make");
  EXPECT_TRUE(std::filesystem::is_symlink(dir_.At("container/usr/lib/linux-kbuild-6.1")));
}

TEST_F(LinkHeadersTest, TheContainersOwnStay) {
  dir_.WriteFile("host/lib/modules/6.1/build/Makefile", "theirs");
  dir_.WriteFile("container/lib/modules/6.1/build/Makefile", "own");
  const auto linked = Link();
  ASSERT_OK(linked);
  EXPECT_FALSE(*linked);
  EXPECT_EQ(dir_.ReadFile("container/lib/modules/6.1/build/Makefile"), "own");
}

TEST_F(LinkHeadersTest, AHostWithoutHeadersHasNoneToLink) {
  const auto linked = Link();
  ASSERT_OK(linked);
  EXPECT_FALSE(*linked);
  EXPECT_TRUE(std::filesystem::is_empty(dir_.At("container")));
}

}  // namespace
}  // namespace kgpu::driver_install
