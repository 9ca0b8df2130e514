#include "src/cli/base/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/unique_fd.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(ProgressTest, SlowWorkIsNamedAndErasedAtTheEnd) {
  std::vector<std::string> written;
  std::promise<void> shown;
  {
    const Progress progress("asking the driver", {.delay = std::chrono::milliseconds(0),
                                                  .repeat = std::chrono::hours(1),
                                                  .write = [&](std::string_view text) {
                                                    written.emplace_back(text);
                                                    if (written.size() == 1) {
                                                      shown.set_value();
                                                    }
                                                  }});
    shown.get_future().wait();
  }
  ASSERT_EQ(written.size(), 2U);
  EXPECT_EQ(written[0], "\r\033[Kasking the driver … 0 s");
  EXPECT_EQ(written[1], "\r\033[K");
}

TEST(ProgressTest, QuickWorkShowsNothing) {
  std::vector<std::string> written;
  {
    const Progress progress("asking the driver",
                            {.delay = std::chrono::hours(1),
                             .write = [&](std::string_view text) { written.emplace_back(text); }});
  }
  EXPECT_THAT(written, IsEmpty());
}

// What is written by a progress line that is shown at once, and by `work` after that.
std::string WrittenWith(const std::function<void(Progress&)>& work) {
  std::string written;
  std::promise<void> shown;
  {
    Progress progress("asking", {.delay = std::chrono::milliseconds(0),
                                 .repeat = std::chrono::hours(1),
                                 .write = [&](std::string_view text) {
                                   const bool is_first = written.empty();
                                   written += text;
                                   if (is_first) {
                                     shown.set_value();
                                   }
                                 }});
    shown.get_future().wait();
    work(progress);
  }
  return written;
}

TEST(ProgressTest, ANoteHasALineOfItsOwn) {
  EXPECT_EQ(WrittenWith([](Progress& progress) {
              progress.Note("one");
              progress.Note("two");
            }),
            "\r\033[Kasking … 0 s\r\033[Kone\ntwo\n");
}

TEST(ProgressTest, ALogLineHasALineOfItsOwn) {
  std::vector<std::string> logged;
  SetLogSink([&](LogLevel, std::string_view line) { logged.emplace_back(line); });
  EXPECT_THAT(WrittenWith([](Progress&) { KGPU_LOG(kWarning, "driver library wrote", {"n", 1}); }),
              AllOf(StartsWith("\r\033[Kasking … 0 s\r\033[K"), HasSubstr("driver library wrote"),
                    EndsWith("\n")));
  EXPECT_THAT(logged, IsEmpty());
  KGPU_LOG(kWarning, "afterwards", {"n", 1});
  EXPECT_THAT(logged, SizeIs(1));
  SetLogSink({});
}

TEST(ProgressTest, WithoutATerminalANoteIsPrintedAsItIs) {
  testing::internal::CaptureStderr();
  {
    Progress progress("asking the driver", {});
    progress.Note("one");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\n");
}

TEST(ProgressTest, OnlyATerminalThatErasesLinesIsWrittenTo) {
  const TempDir dir;
  dir.WriteFile("file", "");
  const UniqueFd file(open(dir.At("file").c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_FALSE(TerminalOptions(file.get(), {"TERM=xterm"}).write);
  EXPECT_FALSE(TerminalOptions(-1, {"TERM=xterm"}).write);

  const UniqueFd terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.is_valid() || isatty(terminal.get()) == 0) {
    GTEST_SKIP() << "no pseudoterminals here";
  }
  EXPECT_FALSE(TerminalOptions(terminal.get(), {"TERM=dumb"}).write);
  EXPECT_TRUE(TerminalOptions(terminal.get(), {"TERM=xterm"}).write);
}

}  // namespace
}  // namespace kgpu::cli
