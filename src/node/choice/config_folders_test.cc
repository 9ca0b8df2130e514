#include "src/node/choice/config_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/temp_dir.h"

namespace kgpu::choice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ConfigFoldersTest : public ::testing::Test {
 protected:
  choice::Folder Read() const {
    choice::Folder folder = ConfigFoldersBelow(dir_.path()).configs;
    folder.files = {{"old", "old"}};
    ReadFolder(folder);
    return folder;
  }

  TempDir dir_;
};

TEST_F(ConfigFoldersTest, AMissingFolderHasNoFiles) {
  EXPECT_THAT(Read().files, IsEmpty());
  EXPECT_EQ(Read().problem, "");
}

TEST_F(ConfigFoldersTest, ReadsWhatAConfigMapMayHave) {
  dir_.WriteFile("configs/mig.yaml", "a");
  dir_.WriteFile("configs/Shared_1", "b");
  dir_.WriteFile("configs/.mig.yaml.swp", "c");
  dir_.WriteFile("configs/mig.yaml~", "d");
  dir_.WriteFile("configs/folder/x", "e");
  dir_.Symlink("gone", "configs/dangling");
  EXPECT_THAT(Read().files, ElementsAre(Pair("Shared_1", "b"), Pair("mig.yaml", "a")));
  EXPECT_EQ(Read().problem, "");
}

TEST_F(ConfigFoldersTest, ReadsThroughTheKubeletsLinks) {
  dir_.WriteFile("configs/..1/mig.yaml", "a");
  dir_.Symlink("..1", "configs/..data");
  dir_.Symlink("..data/mig.yaml", "configs/mig.yaml");
  EXPECT_THAT(Read().files, ElementsAre(Pair("mig.yaml", "a")));
}

TEST_F(ConfigFoldersTest, HasALimitForAllFilesTogether) {
  dir_.WriteFile("configs/a", std::string(kMaxFolderBytes / 2, 'a'));
  dir_.WriteFile("configs/b", std::string(kMaxFolderBytes / 2, 'b'));
  EXPECT_EQ(Read().problem, "");
  dir_.WriteFile("configs/c", "c");
  EXPECT_THAT(Read().problem, HasSubstr("configs/c"));
  EXPECT_THAT(Read().files, IsEmpty());
}

TEST_F(ConfigFoldersTest, WhatIsNoFolderIsAProblem) {
  dir_.WriteFile("configs", "");
  EXPECT_THAT(Read().problem, HasSubstr("configs"));
}

}  // namespace
}  // namespace kgpu::choice
