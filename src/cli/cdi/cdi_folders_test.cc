#include "src/cli/cdi/cdi_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;

// A host on which /var/run is a link, as on every distribution.
class CdiFoldersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.MakeDir("etc/cdi");
    host_.MakeDir("run/cdi");
    host_.MakeDir("var");
    std::filesystem::create_directory_symlink("/run", host_.At("var/run"));
    options_.host_root = host_.path();
  }

  TempDir host_;
  TempDir out_;
  HostOptions options_;
};

TEST_F(CdiFoldersTest, TheHostsFoldersAreTheDefault) {
  const StatusOr<CdiFolders> folders = FoldersToWrite(options_, "");
  ASSERT_OK(folders);
  EXPECT_EQ(folders->root.At("x"), host_.At("x"));
  EXPECT_THAT(folders->paths, ElementsAre("/etc/cdi", "/var/run/cdi"));
}

TEST_F(CdiFoldersTest, GivenFoldersAreReadAlone) {
  const StatusOr<CdiFolders> folders = FoldersToRead(options_, {out_.path()});
  ASSERT_OK(folders);
  EXPECT_EQ(folders->root.At("x"), "/x");
  EXPECT_THAT(folders->paths, ElementsAre(out_.path()));
}

TEST_F(CdiFoldersTest, AnOutputFolderComesAfterTheHostsFolders) {
  const StatusOr<CdiFolders> folders = FoldersToWrite(options_, out_.path());
  ASSERT_OK(folders);
  EXPECT_THAT(folders->paths, ElementsAre(host_.At("etc/cdi"), host_.At("run/cdi"), out_.path()));
}

TEST_F(CdiFoldersTest, AnOutputFolderThatIsTheHostsCountsOnce) {
  const StatusOr<CdiFolders> folders = FoldersToWrite(options_, host_.At("run/cdi"));
  ASSERT_OK(folders);
  EXPECT_THAT(folders->paths, ElementsAre(host_.At("etc/cdi"), host_.At("run/cdi")));
}

TEST_F(CdiFoldersTest, HostFoldersThatAreNotThereYetAreLookedForLater) {
  std::filesystem::remove(host_.At("etc/cdi"));
  const StatusOr<CdiFolders> folders = FoldersToWrite(options_, out_.path());
  ASSERT_OK(folders);
  EXPECT_THAT(folders->paths, ElementsAre(host_.At("etc/cdi"), host_.At("run/cdi"), out_.path()));
}

}  // namespace
}  // namespace kgpu::cli
