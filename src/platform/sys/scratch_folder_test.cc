#include "src/platform/sys/scratch_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ScratchFolderTest : public ::testing::Test {
 protected:
  ScratchFolderTest() { dir_.MakeDir("var"); }
  Root OpenRoot() const { return Root::Open(dir_.path()).value(); }

  TempDir dir_;
};

TEST_F(ScratchFolderTest, IsGoneWithAllThatIsInIt) {
  const Root root = OpenRoot();
  {
    const auto scratch = ScratchFolder::Make(root, "/var", "x");
    ASSERT_OK(scratch);
    EXPECT_THAT((*scratch)->inside(), StartsWith("/var/x-"));
    EXPECT_EQ((*scratch)->path(), root.At((*scratch)->inside()));
    struct stat facts = {};
    ASSERT_EQ(stat((*scratch)->path().c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777U, 0700U);
    dir_.WriteFile((*scratch)->inside() + "/a/b", "");
  }
  EXPECT_THAT(root.ListDir("/var"), IsOkAndHolds(IsEmpty()));
}

TEST_F(ScratchFolderTest, IsGoneBeforeASignalEndsTheProcess) {
  const Root root = OpenRoot();
  EXPECT_EXIT(
      {
        {
          const auto scratch = ScratchFolder::Make(root, "/var", "x");
          dir_.WriteFile(scratch.value()->inside() + "/file", "");
          (void)raise(SIGTERM);
        }
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_THAT(root.ListDir("/var"), IsOkAndHolds(IsEmpty()));
}

TEST_F(ScratchFolderTest, OnlyAbandonedOnesAreRemoved) {
  const Root root = OpenRoot();
  dir_.WriteFile("var/x-abcdef/lists/a", "");
  dir_.WriteFile("var/x-other-name/a", "");
  dir_.WriteFile("var/y-abcdef/a", "");
  dir_.WriteFile("var/x-ghijkl", "a file");
  const auto scratch = ScratchFolder::Make(root, "/var", "x");
  ASSERT_OK(scratch);
  ScratchFolder::RemoveAbandoned(root, "/var", "x");
  EXPECT_FALSE(root.Exists("/var/x-abcdef"));
  EXPECT_TRUE(root.Exists((*scratch)->inside()));
  EXPECT_TRUE(root.Exists("/var/x-other-name/a"));
  EXPECT_TRUE(root.Exists("/var/y-abcdef/a"));
  EXPECT_TRUE(root.Exists("/var/x-ghijkl"));
}

TEST_F(ScratchFolderTest, NamesTheFolderThatIsNotThere) {
  EXPECT_THAT(ScratchFolder::Make(OpenRoot(), "/gone", "x"),
              StatusIs(StatusCode::kNotFound, HasSubstr("/gone")));
}

}  // namespace
}  // namespace kgpu::sys
