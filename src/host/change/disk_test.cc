#include "src/host/change/disk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/host/change/test_folder_host.h"
#include "testing/status_matchers.h"

namespace kgpu::change {
namespace {

mode_t ModeOf(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode;
}

TEST(HostDiskTest, KeepsALinkAndReplacesItsTarget) {
  FolderHost host;
  host.folder().WriteFile("srv/daemon.json", "{}\n");
  host.folder().MakeDir("etc/docker");
  host.folder().Symlink("/srv/daemon.json", "etc/docker/daemon.json");
  HostDisk disk(host.root());

  ASSERT_OK(disk.Write("/etc/docker/daemon.json", "{ }\n", 0644));

  EXPECT_TRUE(S_ISLNK(ModeOf(host.folder().At("etc/docker/daemon.json"))));
  EXPECT_EQ(host.folder().ReadFile("srv/daemon.json"), "{ }\n");
}

TEST(HostDiskTest, KeepsModeAndOwner) {
  FolderHost host;
  host.folder().WriteFile("f", "old");
  const std::string path = host.folder().At("f");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const bool is_root = geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(chown(path.c_str(), 7, 8), 0);
  }
  HostDisk disk(host.root());

  ASSERT_OK(disk.Write("/f", "new", 0600));

  EXPECT_EQ(ModeOf(path) & 07777, 0640U);
  struct stat status = {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, is_root ? 7U : geteuid());
  EXPECT_EQ(status.st_gid, is_root ? 8U : getegid());
}

TEST(HostDiskTest, GivesANewFileItsMode) {
  FolderHost host;
  HostDisk disk(host.root());

  ASSERT_OK(disk.Write("/new", "x", 0600));

  EXPECT_EQ(ModeOf(host.folder().At("new")) & 07777, 0600U);
}

TEST(HostDiskTest, ReplacesAFileWithTheModeAskedFor) {
  FolderHost host;
  host.folder().WriteFile("f", "old");
  ASSERT_EQ(chmod(host.folder().At("f").c_str(), 0640), 0);
  HostDisk disk(host.root());

  ASSERT_OK(disk.Replace("/f", "new", {.mode = 0604, .uid = geteuid(), .gid = getegid()}));

  EXPECT_EQ(ModeOf(host.folder().At("f")) & 07777, 0604U);
  EXPECT_EQ(host.folder().ReadFile("f"), "new");
}

TEST(HostDiskTest, ReplacesNoDeviceAndNoPipe) {
  FolderHost host;
  host.folder().MakeDir("dev");
  ASSERT_EQ(mkfifo(host.folder().At("dev/null").c_str(), 0666), 0);
  host.folder().Symlink("/dev/null", "daemon.json");
  HostDisk disk(host.root());

  EXPECT_EQ(disk.Write("/daemon.json", "{}", 0644).code(), StatusCode::kFailedPrecondition);

  EXPECT_TRUE(S_ISFIFO(ModeOf(host.folder().At("dev/null"))));
}

TEST(HostDiskTest, StaysBelowTheRoot) {
  FolderHost host;
  host.folder().MakeDir("etc");
  host.folder().Symlink("/../../../../etc/x", "etc/link");
  HostDisk disk(host.root());

  ASSERT_FALSE(disk.Write("/etc/link", "x", 0644).ok());  // leads to nothing below the root
  ASSERT_OK(disk.Write("/../../up", "x", 0644));
  EXPECT_EQ(host.folder().ReadFile("up"), "x");
}

TEST(HostDiskTest, RemovesLinksNotTheirTargets) {
  FolderHost host;
  host.folder().WriteFile("target", "x");
  host.folder().Symlink("target", "link");
  HostDisk disk(host.root());

  ASSERT_OK(disk.Remove("/link"));
  ASSERT_OK(disk.Remove("/link"));
  ASSERT_OK(disk.Remove("/no/such/folder/link"));

  EXPECT_FALSE(host.root().LinkStat("link").ok());
  EXPECT_EQ(host.folder().ReadFile("target"), "x");
}

TEST(HostDiskTest, LeavesFoldersThatAreNotEmpty) {
  FolderHost host;
  HostDisk disk(host.root());
  ASSERT_OK(disk.MakeFolder("/a"));
  ASSERT_OK(disk.MakeFolder("/a"));
  host.folder().WriteFile("a/f", "x");

  ASSERT_OK(disk.RemoveFolder("/a"));
  EXPECT_TRUE(host.root().Exists("a/f"));
  ASSERT_OK(disk.Remove("/a/f"));
  ASSERT_OK(disk.RemoveFolder("/a"));
  EXPECT_FALSE(host.root().Exists("a"));
}

}  // namespace
}  // namespace kgpu::change
