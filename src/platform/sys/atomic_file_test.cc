#include "src/platform/sys/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;

size_t FilesIn(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
  }
  return count;
}

class AtomicFileTest : public ::testing::Test {
 protected:
  TempDir dir_;
};

TEST_F(AtomicFileTest, ReplacesTheWholeFileWithTheModeAsked) {
  dir_.WriteFile("f", "old and longer");
  ASSERT_OK(WriteFileAtomically(dir_.At("f"), "new", 0640));
  EXPECT_EQ(dir_.ReadFile("f"), "new");
  struct stat info{};
  ASSERT_EQ(stat(dir_.At("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

TEST_F(AtomicFileTest, ReplacesTheWholeFileInMemoryToo) {
  dir_.WriteFile("f", "old and longer");
  ASSERT_OK(WriteFileAtomically(dir_.At("f"), "new", 0640, Durability::kMemory));
  EXPECT_EQ(dir_.ReadFile("f"), "new");
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

TEST_F(AtomicFileTest, WithoutCommitNothingChangesAndNothingIsLeft) {
  dir_.WriteFile("f", "old");
  {
    AtomicFile file = AtomicFile::Create(dir_.At("f")).value();
    ASSERT_OK(file.Write("new"));
    EXPECT_EQ(dir_.ReadFile("f"), "old");
    EXPECT_EQ(FilesIn(dir_.path()), 2u);
  }
  EXPECT_EQ(dir_.ReadFile("f"), "old");
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

TEST_F(AtomicFileTest, TakesAwayWhatKilledProcessesLeft) {
  dir_.WriteFile(".f.a1B2c3", "half");
  dir_.WriteFile(".f.somebody-elses", "kept");
  dir_.WriteFile(".g.a1B2c3", "kept");
  ASSERT_OK(WriteFileAtomically(dir_.At("f"), "new"));
  EXPECT_FALSE(std::filesystem::exists(dir_.At(".f.a1B2c3")));
  EXPECT_EQ(FilesIn(dir_.path()), 3u);
}

TEST_F(AtomicFileTest, TwoReplacementsAtOnceDoNotHarmEachOther) {
  AtomicFile first = AtomicFile::Create(dir_.At("f")).value();
  AtomicFile second = AtomicFile::Create(dir_.At("f")).value();
  ASSERT_OK(first.Write("first"));
  ASSERT_OK(second.Write("second"));
  ASSERT_OK(first.Commit());
  EXPECT_EQ(dir_.ReadFile("f"), "first");
  ASSERT_OK(second.Commit());
  EXPECT_EQ(dir_.ReadFile("f"), "second");
}

TEST_F(AtomicFileTest, AMissingFolderIsNamed) {
  EXPECT_THAT(WriteFileAtomically(dir_.At("no/f"), "x"),
              StatusIs(StatusCode::kNotFound, HasSubstr(dir_.At("no/f"))));
}

TEST_F(AtomicFileTest, AFailedRenameLeavesTheOldStateAndNoTemporaryFile) {
  dir_.MakeDir("target/inner");  // a folder that is not empty cannot be replaced by a file
  EXPECT_FALSE(WriteFileAtomically(dir_.At("target"), "x").ok());
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
  EXPECT_TRUE(std::filesystem::is_directory(dir_.At("target/inner")));
}

}  // namespace
}  // namespace kgpu::sys
