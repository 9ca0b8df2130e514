#include "src/host/change/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "src/host/change/test_folder_host.h"
#include "src/host/change/test_mortal_disk.h"
#include "testing/status_matchers.h"

namespace kgpu::change {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StepsTest : public ::testing::Test {
 protected:
  StepsTest() {
    host_.folder().WriteFile("etc/a", "old a");
    host_.folder().WriteFile("etc/gone", "old");
  }

  Steps Plan(Disk& disk) const {
    Steps steps(host_.root(), disk);
    steps.Add({.path = "/etc/a", .before = "old a", .after = "new a"});
    steps.Add({.path = "/etc/gone", .before = "old", .after = std::nullopt});
    steps.Add({.path = "/etc/x/y/b", .before = std::nullopt, .after = "new b"});
    steps.Add(LinkStep{.path = "/etc/x/link", .target = "../a"});
    return steps;
  }
  std::string Text(const std::string& path) const {
    return host_.root().ReadFile(path).value_or("(none)");
  }
  void ExpectAsBefore() const {
    EXPECT_EQ(Text("/etc/a"), "old a");
    EXPECT_EQ(Text("/etc/gone"), "old");
    EXPECT_FALSE(std::filesystem::exists(host_.folder().At("etc/x")));
  }
  void ExpectDone() const {
    EXPECT_EQ(Text("/etc/a"), "new a");
    EXPECT_EQ(Text("/etc/gone"), "(none)");
    EXPECT_EQ(Text("/etc/x/y/b"), "new b");
    EXPECT_EQ(Text("/etc/x/link"), "new a");
  }

  FolderHost host_;
  HostDisk disk_{host_.root()};
};

TEST_F(StepsTest, DoesAllAndUndoesAll) {
  Steps steps = Plan(disk_);
  const std::vector<std::string> folders = steps.MissingFolders();
  EXPECT_THAT(folders, ElementsAre("/etc/x", "/etc/x/y"));
  std::vector<std::string> done;
  ASSERT_OK(steps.Do(folders, done));
  ExpectDone();
  EXPECT_THAT(done, ElementsAre(HasSubstr("changed "), HasSubstr("removed "), HasSubstr("wrote "),
                                HasSubstr("linked ")));
  done.clear();
  ASSERT_OK(steps.Do(folders, done));
  EXPECT_THAT(done, IsEmpty()) << "all was done already";
  ASSERT_OK(steps.Undo(folders));
  ExpectAsBefore();
}

// Killed at each change of the disk: another run goes on, or takes back what was done.
TEST_F(StepsTest, GoesOnAndBackFromEveryKill) {
  const std::vector<std::string> folders = Plan(disk_).MissingFolders();
  for (int lives = 0;; ++lives) {
    std::vector<std::string> done;
    Fate fate(Fate::End::kDead, lives);
    MortalDisk mortal(disk_, fate);
    const bool is_whole = Plan(mortal).Do(folders, done).ok();
    ASSERT_OK(Plan(disk_).Undo(folders)) << lives;
    ExpectAsBefore();
    ASSERT_OK(Plan(disk_).Do(folders, done)) << lives;
    ExpectDone();
    ASSERT_OK(Plan(disk_).Undo(folders)) << lives;
    if (is_whole) {
      break;
    }
  }
}

TEST_F(StepsTest, LeavesWhatSomebodyElseWrote) {
  host_.folder().WriteFile("etc/a", "another");
  std::vector<std::string> done;
  EXPECT_THAT(Plan(disk_).Do({}, done), StatusIs(StatusCode::kUnavailable, HasSubstr("/etc/a")));
  EXPECT_THAT(Plan(disk_).Undo({}), StatusIs(StatusCode::kUnavailable, HasSubstr("/etc/a")));
  EXPECT_EQ(Text("/etc/a"), "another");
}

}  // namespace
}  // namespace kgpu::change
