#include "src/platform/sys/folder_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

class FolderWatchTest : public ::testing::Test {
 protected:
  std::unique_ptr<FolderWatch> Watch(const std::string& folder) {
    return FolderWatch::Create(loop_, folder, [this] { ++changes_; }).value();
  }
  // Whether a change is reported; the kernel queues it before the action's own call returns.
  bool IsReported() {
    changes_ = 0;
    loop_.RunUntilIdle();
    return changes_ > 0;
  }

  TempDir dir_;
  FakeLoop loop_;
  int changes_ = 0;
};

TEST_F(FolderWatchTest, TellsOfNothingOnceItHasStopped) {
  dir_.MakeDir("f");
  const auto watch = Watch(dir_.At("f"));
  watch->StopWatching();
  dir_.WriteFile("f/a", "1");
  EXPECT_FALSE(IsReported());
}

TEST_F(FolderWatchTest, TellsOfNamesThatComeAndGo) {
  dir_.MakeDir("f");
  const auto watch = Watch(dir_.At("f"));
  EXPECT_FALSE(IsReported());
  dir_.WriteFile("f/a", "1");
  EXPECT_TRUE(IsReported());
  std::filesystem::rename(dir_.At("f/a"), dir_.At("f/b"));
  EXPECT_TRUE(IsReported());
  std::filesystem::remove(dir_.At("f/b"));
  EXPECT_TRUE(IsReported());
}

TEST_F(FolderWatchTest, IsSilentAboutItsNeighbours) {
  dir_.MakeDir("f");
  const auto watch = Watch(dir_.At("f"));
  dir_.MakeDir("g");
  dir_.WriteFile("g/a", "1");
  EXPECT_FALSE(IsReported());
}

TEST_F(FolderWatchTest, FollowsAFolderThatIsMadeAgain) {
  dir_.MakeDir("f");
  const auto watch = Watch(dir_.At("f"));
  std::filesystem::remove_all(dir_.At("f"));
  EXPECT_TRUE(IsReported());
  dir_.MakeDir("f");
  EXPECT_TRUE(IsReported());
  dir_.WriteFile("f/a", "1");
  EXPECT_TRUE(IsReported());
}

TEST_F(FolderWatchTest, WaitsForAFolderThatIsNotThere) {
  const auto watch = Watch(dir_.At("f/"));
  dir_.MakeDir("f");
  EXPECT_TRUE(IsReported());
  dir_.WriteFile("f/a", "1");
  EXPECT_TRUE(IsReported());
}

TEST_F(FolderWatchTest, NeedsTheFolderAbove) {
  EXPECT_THAT(FolderWatch::Create(loop_, dir_.At("x/y"), [] {}), StatusIs(StatusCode::kNotFound));
}

}  // namespace
}  // namespace kgpu::sys
