#include "src/setup/driver_install/container_trees.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver_install {
namespace {

namespace fs = std::filesystem;

class HostTreesTest : public ::testing::Test {
 protected:
  HostTreesTest() : host_(Opened("host")), from_(Opened("from")), trees_(host_) {}

  sys::Root Opened(const std::string& name) const {
    dir_.MakeDir(name);
    auto root = sys::Root::Open(dir_.At(name));
    return *std::move(root);
  }
  mode_t Mode(const std::string& path) const {
    struct stat status = {};
    EXPECT_EQ(lstat(dir_.At(path).c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  // As mountinfo says it.
  void MountAt(const std::vector<std::string>& paths) const {
    std::string text = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
    for (const std::string& path : paths) {
      fmt::format_to(std::back_inserter(text), "40 22 8:1 /x {} rw - ext4 /dev/sda1 rw\n",
                     dir_.At(path));
    }
    dir_.WriteFile("mountinfo", text);
  }
  HostTrees Mounted() const { return HostTrees(host_, dir_.At("mountinfo")); }

  TempDir dir_;
  sys::Root host_;
  sys::Root from_;
  HostTrees trees_;
};

TEST_F(HostTreesTest, ACopyHasBytesModesAndLinks) {
  dir_.WriteFile("from/usr/bin/tool", "bytes");
  ASSERT_EQ(chmod(dir_.At("from/usr/bin/tool").c_str(), 04755), 0);
  dir_.Symlink("/nowhere", "from/usr/link");
  dir_.WriteFile("from/tmp/left", "");
  ASSERT_EQ(chmod(dir_.At("from/tmp").c_str(), 01777), 0);
  ASSERT_EQ(mkfifo(dir_.At("from/usr/pipe").c_str(), 0600), 0);

  dir_.WriteFile("from/usr/bin/other", "");

  ASSERT_OK(trees_.Copy(from_, {"/tmp", "/usr/bin/other"}, "/copy"));

  EXPECT_EQ(dir_.ReadFile("host/copy/usr/bin/tool"), "bytes");
  EXPECT_EQ(Mode("host/copy/usr/bin/tool"), 0755U) << "it has its owner's rights for nobody";
  EXPECT_EQ(fs::read_symlink(dir_.At("host/copy/usr/link")), "/nowhere");
  EXPECT_TRUE(fs::is_empty(dir_.At("host/copy/tmp")));
  EXPECT_EQ(Mode("host/copy/tmp"), 01777U);
  EXPECT_FALSE(fs::exists(dir_.At("host/copy/usr/pipe")));
  EXPECT_FALSE(fs::exists(dir_.At("host/copy/usr/bin/other")));
}

TEST_F(HostTreesTest, WhatIsMountedIsNotCopied) {
  dir_.WriteFile("from/etc/modprobe.d/mounted file", "");
  dir_.WriteFile("from/etc/modprobe.d/own", "");
  dir_.WriteFile("from/data/file", "");
  MountAt({"from/etc/modprobe.d/mounted\\040file", "from/data"});

  ASSERT_OK(Mounted().Copy(from_, {}, "/copy"));

  EXPECT_TRUE(fs::exists(dir_.At("host/copy/etc/modprobe.d/own")));
  EXPECT_FALSE(fs::exists(dir_.At("host/copy/etc/modprobe.d/mounted file")));
  EXPECT_TRUE(fs::is_empty(dir_.At("host/copy/data")));
}

TEST_F(HostTreesTest, WhatIsMountedBelowATreeIsNotDeleted) {
  dir_.WriteFile("host/old/dev/null", "");
  dir_.MakeDir("host/older");
  dir_.MakeDir("host/new");
  MountAt({"host/old/dev"});
  HostTrees trees = Mounted();

  EXPECT_EQ(trees.Remove("/old").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(trees.Put("/new", "/old").code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(trees.CheckUnmounted("/old"))),
              ::testing::HasSubstr(dir_.At("host/old/dev")));
  EXPECT_TRUE(fs::exists(dir_.At("host/old/dev/null")));
  EXPECT_OK(trees.Remove("/older"));
}

TEST_F(HostTreesTest, NothingIsDeletedWhereMountsAreNotKnown) {
  dir_.WriteFile("host/old/file", "");
  HostTrees trees(host_, dir_.At("none"));
  EXPECT_FALSE(trees.Remove("/old").ok());
  EXPECT_TRUE(fs::exists(dir_.At("host/old/file")));
}

TEST_F(HostTreesTest, ACopyThatHasNoRoomIsNotBegun) {
  dir_.WriteFile("from/usr/bytes", std::string(3 << 20, 'x'));
  const auto one_mib = [](const std::string&) { return StatusOr<uint64_t>(1 << 20); };
  HostTrees trees(host_, "/proc/self/mountinfo", one_mib);

  const Status copied = trees.Copy(from_, {}, "/copy");

  EXPECT_EQ(copied.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(copied)), ::testing::HasSubstr("1 MiB are free"));
  EXPECT_FALSE(fs::exists(dir_.At("host/copy")));
  EXPECT_OK(trees.Copy(from_, {"/usr"}, "/copy"));
}

TEST_F(HostTreesTest, ACopyIsNotMadeOverAnother) {
  dir_.MakeDir("host/copy");
  EXPECT_FALSE(trees_.Copy(from_, {}, "/copy").ok());
}

TEST_F(HostTreesTest, ATreeChangesPlacesWithTheOneBefore) {
  dir_.WriteFile("host/new/a", "new");
  ASSERT_OK(trees_.Put("/new", "/place"));
  dir_.WriteFile("host/new/a", "newer");
  ASSERT_OK(trees_.Put("/new", "/place"));
  EXPECT_EQ(dir_.ReadFile("host/place/a"), "newer");
  EXPECT_EQ(dir_.ReadFile("host/new/a"), "new");
  ASSERT_OK(trees_.Remove("/new"));
  ASSERT_OK(trees_.Remove("/new"));
  EXPECT_FALSE(fs::exists(dir_.At("host/new")));
}

TEST_F(HostTreesTest, ALinkHoldsWhereverTheHostIsSeen) {
  dir_.WriteFile("host/var/lib/place/a", "seen");
  ASSERT_OK(trees_.PointTo("/run/nvidia/driver", "/var/lib/place"));
  ASSERT_OK(trees_.PointTo("/run/nvidia/driver", "/var/lib/place"));
  EXPECT_EQ(fs::read_symlink(dir_.At("host/run/nvidia/driver")), "../../var/lib/place");
  EXPECT_EQ(dir_.ReadFile("host/run/nvidia/driver/a"), "seen");
}

TEST_F(HostTreesTest, AFullFolderIsNotReplacedByALink) {
  dir_.WriteFile("host/run/nvidia/driver/a", "theirs");
  EXPECT_EQ(trees_.PointTo("/run/nvidia/driver", "/place").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(dir_.ReadFile("host/run/nvidia/driver/a"), "theirs");
}

TEST_F(HostTreesTest, TheRootItselfIsNoTree) {
  EXPECT_EQ(trees_.Remove("/").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(trees_.Remove("/a/..").code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace kgpu::driver_install
