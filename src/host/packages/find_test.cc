#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/packages/apt.h"
#include "src/host/packages/package_manager.h"
#include "src/host/packages/rpm.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::packages {
namespace {

using ::testing::HasSubstr;

template <typename Manager>
bool Finds(const TempDir& dir) {
  const auto root = sys::Root::Open(dir.path());
  sys::RealRunner runner;
  const auto found = root.ok() ? FindPackageManager(*root, runner) : root.status();
  return found.ok() && dynamic_cast<Manager*>(found->get()) != nullptr;
}

TEST(FindPackageManagerTest, FindsAptBesideItsDatabase) {
  const TempDir dir;
  dir.WriteFile("usr/bin/apt-get", "");
  dir.WriteFile("usr/bin/dnf", "");
  EXPECT_TRUE(Finds<RpmManager>(dir));
  dir.WriteFile("var/lib/dpkg/status", "");
  EXPECT_TRUE(Finds<AptManager>(dir));
}

TEST(FindPackageManagerTest, FindsYumWhereNothingNewerIs) {
  const TempDir dir;
  dir.WriteFile("usr/bin/yum", "");
  EXPECT_TRUE(Finds<RpmManager>(dir));
}

TEST(FindPackageManagerTest, TellsWhatItLookedFor) {
  const TempDir dir;
  const auto root = sys::Root::Open(dir.path());
  ASSERT_OK(root);
  sys::RealRunner runner;
  EXPECT_THAT(FindPackageManager(*root, runner),
              StatusIs(StatusCode::kNotFound, HasSubstr("apt-get, dnf, yum and zypper")));
}

}  // namespace
}  // namespace kgpu::packages
