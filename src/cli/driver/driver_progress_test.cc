#include "src/cli/driver/driver_progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::cli {
namespace {

driver::Step Titled(std::string title) {
  driver::Step step;
  step.title = std::move(title);
  return step;
}

TEST(DriverProgressTest, DrawsABarAsFarAsTheStepsAre) {
  EXPECT_EQ(ProgressBar(1, 4, "begin", "", 80), "[----------------] 1/4 begin");
  EXPECT_EQ(ProgressBar(3, 4, "go on", " line ", 80), "[########--------] 3/4 go on: line");
  EXPECT_EQ(ProgressBar(4, 4, "end", "", 80), "[############----] 4/4 end");
}

TEST(DriverProgressTest, StaysWithinTheTerminal) {
  EXPECT_EQ(ProgressBar(1, 2, "install", std::string(500, 'x'), 40).size(), 40U);
}

TEST(DriverProgressTest, LetsNoProgramWriteToTheTerminal) {
  EXPECT_EQ(ProgressBar(1, 1, "t", "a\033[2Jb", 80), "[----------------] 1/1 t: a\\x1b[2Jb");
}

TEST(DriverProgressTest, PrintsALineAStepWhereThereIsNoTerminal) {
  std::string shown;
  DriverProgress progress(0, [&shown](std::string_view text) { shown += text; });

  progress.OnStep(1, 2, Titled("one"), false);
  progress.OnLine("a line");
  progress.OnStep(1, 2, Titled("one"), true);
  progress.Clear();

  EXPECT_EQ(shown,
            "1/2 one\n"
            "1/2 undo: one\n");
}

TEST(DriverProgressTest, PrintsWhatIsWaitedForWholeEverywhere) {
  const std::string line(100, 'w');
  for (const size_t width : {0U, 40U}) {
    std::string shown;
    DriverProgress progress(width, [&shown](std::string_view text) { shown += text; });

    progress.OnWait(line);

    EXPECT_EQ(shown, line + "\n");
  }
}

TEST(DriverProgressTest, ShowsTheLastLineOnATerminal) {
  std::string shown;
  DriverProgress progress(40, [&shown](std::string_view text) { shown += text; });

  progress.OnStep(1, 2, Titled("one"), false);
  progress.OnLine("a line");
  progress.Clear();

  EXPECT_EQ(shown,
            "\r\033[K[----------------] 1/2 one\r\033[K[----------------] 1/2 one: a line\r\033[K");
}

}  // namespace
}  // namespace kgpu::cli
