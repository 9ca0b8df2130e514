#include "src/container/inject/index_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::inject {
namespace {

using ::testing::HasSubstr;

class IndexFileTest : public ::testing::Test {
 protected:
  IndexFileTest() : root_(sys::Root::Open(dir_.path()).value()) { dir_.MakeDir("run"); }

  static InjectionIndex IndexOf(const std::string& driver_version) {
    InjectionIndex index;
    index.driver_version = driver_version;
    return index;
  }

  TempDir dir_;
  sys::Root root_;
};

TEST_F(IndexFileTest, WhatIsWrittenIsRead) {
  EXPECT_THAT(WriteIndex(root_, IndexOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_THAT(ReadIndex(root_), IsOkAndHolds(IndexOf("535.104.05")));
}

TEST_F(IndexFileTest, AnIndexThatIsRightIsLeftAlone) {
  EXPECT_THAT(WriteIndex(root_, IndexOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_THAT(WriteIndex(root_, IndexOf("535.104.05")), IsOkAndHolds(false));
  EXPECT_THAT(WriteIndex(root_, IndexOf("550.54.15")), IsOkAndHolds(true));
}

TEST_F(IndexFileTest, EverybodyMayRead) {
  EXPECT_THAT(WriteIndex(root_, IndexOf("535.104.05")), IsOkAndHolds(true));
  struct stat status{};
  ASSERT_EQ(stat(dir_.At("run/kgpu/injection.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  ASSERT_EQ(stat(dir_.At("run/kgpu").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0755U, 0755U);
}

TEST_F(IndexFileTest, LinksAreFollowedBelowTheRoot) {
  dir_.MakeDir("real");
  std::filesystem::remove(dir_.At("run"));
  std::filesystem::create_symlink("/real", dir_.At("run"));
  EXPECT_THAT(WriteIndex(root_, IndexOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_TRUE(std::filesystem::exists(dir_.At("real/kgpu/injection.json")));
}

TEST_F(IndexFileTest, NoIndexIsNotFound) {
  EXPECT_THAT(ReadIndex(root_),
              StatusIs(StatusCode::kNotFound, HasSubstr("run/kgpu/injection.json")));
}

TEST_F(IndexFileTest, AHostWithoutRunIsAnError) {
  std::filesystem::remove(dir_.At("run"));
  EXPECT_FALSE(WriteIndex(root_, IndexOf("535.104.05")).ok());
}

}  // namespace
}  // namespace kgpu::inject
