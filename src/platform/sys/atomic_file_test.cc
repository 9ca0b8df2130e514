#include "src/platform/sys/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/platform/base/unique_fd.h"

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

TEST_F(AtomicFileTest, RemovesTemporaryFilesOfKilledProcesses) {
  const std::string temporary = AtomicFile::Create(dir_.At("f")).value().temporary_path();
  dir_.WriteFile(std::filesystem::path(temporary).filename().string(), "half");
  dir_.WriteFile(".f.of-others", "kept");
  dir_.WriteFile(".g.tmp0", "kept");
  RemoveLeftovers(dir_.At("f"));
  EXPECT_FALSE(std::filesystem::exists(temporary));
  EXPECT_EQ(FilesIn(dir_.path()), 2u);
}

TEST_F(AtomicFileTest, ReplacesAFileWhoseEarlierReplacementWasKilled) {
  const std::string temporary = AtomicFile::Create(dir_.At("f")).value().temporary_path();
  dir_.WriteFile(std::filesystem::path(temporary).filename().string(), "half and longer");
  ASSERT_OK(WriteFileAtomically(dir_.At("f"), "new"));
  EXPECT_EQ(dir_.ReadFile("f"), "new");
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
}

// So that a replacement costs the same however many files the folder has.
TEST_F(AtomicFileTest, DoesNotListTheFolder) {
  const UniqueFd events(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(inotify_add_watch(events.get(), dir_.path().c_str(), IN_ACCESS), 0);
  ASSERT_OK(WriteFileAtomically(dir_.At("f"), "new"));
  std::array<char, 4096> bytes{};
  EXPECT_LT(read(events.get(), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
  EXPECT_GT(read(events.get(), bytes.data(), bytes.size()), 0) << "the kernel reports a listing";
}

TEST_F(AtomicFileTest, ManyReplacementsAtOnceDoNotHarmEachOther) {
  std::vector<AtomicFile> files;
  for (int i = 0; i < 9; ++i) {
    files.push_back(AtomicFile::Create(dir_.At("f")).value());
    ASSERT_OK(files.back().Write(fmt::format("{}", i)));
  }
  for (int i = 8; i >= 0; --i) {
    ASSERT_OK(files[static_cast<size_t>(i)].Commit(Durability::kMemory));
    EXPECT_EQ(dir_.ReadFile("f"), fmt::format("{}", i));
  }
  files.clear();
  EXPECT_EQ(FilesIn(dir_.path()), 1u);
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
