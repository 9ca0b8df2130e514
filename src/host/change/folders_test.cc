#include "src/host/change/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/host/change/test_folder_host.h"
#include "testing/status_matchers.h"

namespace kgpu::change {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FoldersTest : public ::testing::Test {
 protected:
  bool Has(const char* path) const { return std::filesystem::exists(host_.folder().At(path)); }

  FolderHost host_;
  HostDisk disk_{host_.root()};
};

TEST_F(FoldersTest, MakesThoseThatAreMissingAndRemovesThem) {
  host_.folder().WriteFile("etc/a", "");
  const std::vector<std::string> folders = MissingFolders(host_.root(), "/etc/x/y/b");
  EXPECT_THAT(folders, ElementsAre("/etc/x", "/etc/x/y"));
  ASSERT_OK(MakeFolders(disk_, folders));
  EXPECT_TRUE(Has("etc/x/y"));
  ASSERT_OK(RemoveFolders(disk_, folders));
  EXPECT_FALSE(Has("etc/x"));
}

TEST_F(FoldersTest, GoesOnRemovingAfterAnError) {
  host_.folder().WriteFile("etc/file", "");
  const std::vector<std::string> folders = {"/etc/x", "/etc/file"};
  ASSERT_OK(disk_.MakeFolder("/etc/x"));
  const Status removed = RemoveFolders(disk_, folders);
  EXPECT_FALSE(removed.ok());
  EXPECT_THAT(std::string(removed.message()), HasSubstr("/etc/file"));
  EXPECT_FALSE(Has("etc/x"));
}

}  // namespace
}  // namespace kgpu::change
