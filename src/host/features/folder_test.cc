#include "src/host/features/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::features {
namespace {

using ::testing::Optional;

class FolderTest : public testing::Test {
 protected:
  // The folder "f" of the root.
  Folder Open(const std::string& path = "f") {
    dir_.MakeDir("f");
    host_ = sys::Root::Open(dir_.path());
    EXPECT_THAT(host_, IsOk());
    return Folder::Open(*host_, path);
  }

  TempDir dir_;
  StatusOr<sys::Root> host_ = NotFound("not opened yet");
};

TEST_F(FolderTest, ReadsTextsWithoutBlanksAround) {
  dir_.WriteFile("f/speed", " 25000 \n");
  dir_.WriteFile("f/queue/dax", "0\n");
  EXPECT_THAT(Open().Text("speed"), Optional(std::string("25000")));
  EXPECT_THAT(Open().Text("queue/dax"), Optional(std::string("0")));
}

TEST_F(FolderTest, SaysWhyThereIsNoText) {
  dir_.WriteFile("f/long", std::string(kAttributeLimit + 1, 'x'));
  dir_.MakeDir("f/folder");
  const Folder folder = Open();
  EXPECT_TRUE(folder.Read("missing").is_missing());
  EXPECT_TRUE(folder.Read("long/missing").is_missing());
  EXPECT_EQ(folder.Read("long").error, EFBIG);
  EXPECT_EQ(folder.Read("folder").error, EISDIR);
}

TEST_F(FolderTest, TakesAsMuchAsAnAttributeCanHave) {
  dir_.WriteFile("f/full", std::string(kAttributeLimit, 'x'));
  EXPECT_TRUE(Open().Read("full").ok());
}

TEST_F(FolderTest, FollowsNoLinkBelowIt) {
  dir_.WriteFile("secret", "1");
  dir_.Symlink("../secret", "f/link");
  dir_.Symlink("..", "f/up");
  const Folder folder = Open();
  EXPECT_EQ(folder.Read("link").error, ELOOP);
  EXPECT_EQ(folder.Read("up/secret").error, ELOOP);
  EXPECT_EQ(folder.Read("../secret").error, EXDEV);
}

TEST_F(FolderTest, DoesNotWaitForAFifo) {
  dir_.MakeDir("f");
  ASSERT_EQ(::mkfifo(dir_.At("f/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(Open().Read("fifo").text.empty());
}

TEST_F(FolderTest, NamesWhatALinkLeadsTo) {
  dir_.Symlink("../../bus/pci/drivers/vfio-pci", "f/driver");
  dir_.Symlink("plain", "f/short");
  const Folder folder = Open();
  EXPECT_THAT(folder.LinkName("driver"), Optional(std::string("vfio-pci")));
  EXPECT_THAT(folder.LinkName("short"), Optional(std::string("plain")));
  EXPECT_EQ(folder.LinkName("missing"), std::nullopt);
  EXPECT_TRUE(folder.Has("driver"));
  EXPECT_FALSE(folder.Has("missing"));
}

TEST_F(FolderTest, OpensEntriesThatAreLinks) {
  dir_.WriteFile("devices/d0/vendor", "0x10de\n");
  dir_.Symlink("../devices/d0", "f/d0");
  dir_.Symlink("/devices/d0", "f/absolute");
  dir_.WriteFile("f/plain/vendor", "0x8086\n");
  const Folder folder = Open();
  EXPECT_THAT(folder.OpenEntry(*host_, "d0").Text("vendor"), Optional(std::string("0x10de")));
  EXPECT_EQ(folder.OpenEntry(*host_, "d0").path(), "f/d0");
  EXPECT_THAT(folder.OpenEntry(*host_, "absolute").Text("vendor"), Optional(std::string("0x10de")));
  EXPECT_THAT(folder.OpenEntry(*host_, "plain").Text("vendor"), Optional(std::string("0x8086")));
  EXPECT_TRUE(folder.OpenEntry(*host_, "missing").is_missing());
}

TEST_F(FolderTest, OpensEntriesOfFoldersThatAreLinksThemselves) {
  dir_.WriteFile("deep/er/devices/d0/vendor", "0x10de\n");
  dir_.Symlink("../devices/d0", "deep/er/bus/d0");
  dir_.Symlink("deep/er/bus", "bus");
  EXPECT_THAT(Open("bus").OpenEntry(*host_, "d0").Text("vendor"), Optional(std::string("0x10de")));
}

TEST_F(FolderTest, OpensNothingOutsideTheRoot) {
  const TempDir outside;
  outside.WriteFile("vendor", "0x10de\n");
  dir_.Symlink("../../../../../../../.." + outside.path(), "f/out");
  EXPECT_FALSE(Open().OpenEntry(*host_, "out").is_open());
}

TEST_F(FolderTest, IsClosedWhenMissing) {
  const Folder folder = Open("nowhere");
  EXPECT_FALSE(folder.is_open());
  EXPECT_TRUE(folder.is_missing());
  EXPECT_TRUE(folder.Read("x").is_missing());
  EXPECT_FALSE(folder.OpenEntry(*host_, "x").is_open());
}

}  // namespace
}  // namespace kgpu::features
