#include "src/platform/sys/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// "1 TEXT": a format with a version.
StatusOr<std::string> ParseFirst(std::string_view text) {
  if (!text.starts_with("1 ")) {
    return InvalidArgument("written by another version of kgpu (format {})", text.substr(0, 1));
  }
  return std::string(text.substr(2));
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Files cannot grow beyond some bytes, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    (void)signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class StateFileTest : public ::testing::Test {
 protected:
  TempDir dir_;
  const StateFile file_{dir_.At("s"), {.most_bytes = 20}};
  Status damage_;
};

TEST_F(StateFileTest, WithoutAFileThereIsNoState) {
  EXPECT_THAT(file_.Read(ParseFirst), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(file_.ReadOrSetAside(ParseFirst, damage_), IsOkAndHolds(std::nullopt));
  EXPECT_OK(damage_);
  EXPECT_THAT(StateFile(dir_.At("no/folder/s"), {}).Read(ParseFirst), IsOkAndHolds(std::nullopt));
  EXPECT_OK(file_.Remove());
}

TEST_F(StateFileTest, KeepsTheStateForItsOwnerAlone) {
  const StateFile file(dir_.At("made/for/s"), {});
  ASSERT_OK(file.Write("1 a"));
  EXPECT_THAT(file.Read(ParseFirst), IsOkAndHolds(Optional(std::string("a"))));
  ASSERT_OK(file.Write("1 b"));
  EXPECT_THAT(file.Read(ParseFirst), IsOkAndHolds(Optional(std::string("b"))));
  struct stat info{};
  ASSERT_EQ(stat(file.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_OK(file.Remove());
  EXPECT_THAT(file.Read(ParseFirst), IsOkAndHolds(std::nullopt));
}

TEST_F(StateFileTest, RefusesMoreThanItWouldRead) {
  ASSERT_OK(file_.Write("1 old"));
  EXPECT_THAT(file_.Write(std::string(21, 'x')),
              StatusIs(StatusCode::kOutOfRange,
                       AllOf(HasSubstr(file_.path()), HasSubstr("21 bytes, limit 20"))));
  EXPECT_EQ(dir_.ReadFile("s"), "1 old");
  dir_.WriteFile("s", std::string(21, 'x'));
  EXPECT_THAT(file_.Read(ParseFirst), StatusIs(StatusCode::kOutOfRange, HasSubstr(file_.path())));
}

TEST_F(StateFileTest, ReadLeavesADamagedFileAlone) {
  dir_.WriteFile("s", "dam");
  EXPECT_THAT(file_.Read(ParseFirst), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(dir_.ReadFile("s"), "dam");
}

TEST_F(StateFileTest, SetsDamagedFilesAsideAndSaysWhere) {
  for (const char* text : {"x damaged", "2 newer", "y", "a text over the limit of 20 bytes"}) {
    dir_.WriteFile("s", text);
    damage_ = OkStatus();
    EXPECT_THAT(file_.ReadOrSetAside(ParseFirst, damage_), IsOkAndHolds(std::nullopt));
    EXPECT_THAT(damage_.ToString(), HasSubstr("it is kept as " + dir_.At("s.bad")));
    EXPECT_EQ(dir_.ReadFile("s.bad"), text);
  }
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("s.bad", "s.bad.1", "s.bad.2"));
  EXPECT_EQ(dir_.ReadFile("s.bad.1"), "y");
  EXPECT_EQ(dir_.ReadFile("s.bad.2"), "2 newer");
  ASSERT_OK(file_.Write("1 a"));
  EXPECT_THAT(file_.ReadOrSetAside(ParseFirst, damage_), IsOkAndHolds(Optional(std::string("a"))));
}

TEST_F(StateFileTest, ADamagedFileThatCannotBeRenamedIsStillReported) {
  dir_.WriteFile("s", "x");
  dir_.MakeDir("s.bad/inner");
  dir_.MakeDir("s.bad.1/inner");
  dir_.MakeDir("s.bad.2/inner");
  EXPECT_THAT(file_.ReadOrSetAside(ParseFirst, damage_), IsOkAndHolds(std::nullopt));
  EXPECT_THAT(damage_, StatusIs(StatusCode::kInvalidArgument, HasSubstr("stays in its place")));
}

TEST_F(StateFileTest, AFolderInItsPlaceIsNotSetAside) {
  dir_.MakeDir("s");
  EXPECT_THAT(file_.ReadOrSetAside(ParseFirst, damage_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr(file_.path())));
  EXPECT_OK(damage_);
  EXPECT_TRUE(std::filesystem::is_directory(file_.path()));
  std::filesystem::remove(file_.path());
  ASSERT_EQ(mkfifo(file_.path().c_str(), 0600), 0);
  EXPECT_THAT(file_.Read(ParseFirst), StatusIs(StatusCode::kFailedPrecondition));
}

TEST_F(StateFileTest, AFullDiskLeavesTheOldState) {
  ASSERT_OK(file_.Write("1 old"));
  {
    const FullDisk full(8);
    EXPECT_FALSE(file_.Write("1 new and longer").ok());
  }
  EXPECT_THAT(file_.Read(ParseFirst), IsOkAndHolds(Optional(std::string("old"))));
  EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("s"));
}

// A writer that is killed before its rename leaves a temporary file, which may have any part of
// the text.
TEST_F(StateFileTest, AKilledWriterLeavesTheOldStateOrTheNewOne) {
  const std::string text = "1 new and longer";
  for (size_t written = 0; written <= text.size(); ++written) {
    ASSERT_OK(file_.Write("1 old"));
    const std::string temporary = AtomicFile::Create(file_.path()).value().temporary_path();
    dir_.WriteFile(std::filesystem::path(temporary).filename().string(), text.substr(0, written));
    EXPECT_THAT(file_.Read(ParseFirst), IsOkAndHolds(Optional(std::string("old"))));
    ASSERT_OK(file_.Write(text));
    EXPECT_THAT(NamesIn(dir_.path()), ElementsAre("s"));
    EXPECT_THAT(file_.Read(ParseFirst), IsOkAndHolds(Optional(std::string("new and longer"))));
  }
}

}  // namespace
}  // namespace kgpu::sys
