#include "src/platform/sys/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "src/platform/sys/session.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

RunRequest Shell(std::string script) {
  RunRequest request;
  request.argv = {"/bin/sh", "-c", std::move(script)};
  return request;
}

TEST(RunTest, KeepsBothStreamsAndTheExitCode) {
  RealRunner runner;

  const auto result = runner.Run(Shell("echo out; echo err >&2; exit 3"));

  ASSERT_OK(result);
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit.code, 3);
  EXPECT_FALSE(result->IsSuccess());
  EXPECT_EQ(Describe(*result), "exit code 3: err");
}

TEST(RunTest, TellsLinesOfBothStreamsAlsoPastTheLimit) {
  RealRunner runner;
  RunRequest request = Shell("printf 'one\\n\\n 10%%\\r 20%%\\nlast'; echo err >&2");
  request.output_limit = 3;
  std::multiset<std::string> lines;
  request.on_line = [&lines](std::string_view line) { lines.emplace(line); };

  const auto result = runner.Run(request);

  ASSERT_OK(result);
  EXPECT_THAT(lines, UnorderedElementsAre("one", " 10%", " 20%", "last", "err"));
  EXPECT_EQ(result->out, "one");
}

TEST(RunTest, CutsOffALineWithoutEnd) {
  RealRunner runner;
  RunRequest request = Shell("head -c 300000 /dev/zero | tr '\\0' x");
  std::vector<size_t> sizes;
  request.on_line = [&sizes](std::string_view line) { sizes.push_back(line.size()); };

  ASSERT_OK(runner.Run(request));

  EXPECT_THAT(sizes, ElementsAre(4096));
}

TEST(RunTest, GivesNothingOnStandardInput) {
  RealRunner runner;

  const auto result = runner.Run(Shell("cat; echo end"));

  ASSERT_OK(result);
  EXPECT_EQ(result->out, "end\n");
}

TEST(RunTest, GivesOnlyTheEnvironmentAsked) {
  RealRunner runner;
  RunRequest request = Shell("echo $HOME-$ONLY");
  request.environment = {"ONLY=this"};

  const auto result = runner.Run(request);

  ASSERT_OK(result);
  EXPECT_EQ(result->out, "-this\n");
}

TEST(RunTest, DropsOutputBeyondTheLimit) {
  RealRunner runner;
  RunRequest request = Shell("head -c 300000 /dev/zero");
  request.output_limit = 1000;

  const auto result = runner.Run(request);

  ASSERT_OK(result);
  EXPECT_TRUE(result->IsSuccess());
  EXPECT_THAT(result->out, SizeIs(1000));
}

TEST(RunTest, KillsAProgramPastItsDeadline) {
  RealRunner runner;
  RunRequest request = Shell("exec sleep 60");
  request.deadline = std::chrono::milliseconds(30);

  EXPECT_THAT(runner.Run(request), StatusIs(StatusCode::kDeadlineExceeded,
                                            HasSubstr("/bin/sh: did not finish within 0.03 s")));
}

// Whoever takes up orphans may not have seen its end yet.
bool HasEnded(pid_t pid) {
  const auto stat = StatOf(pid);
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

// Prints the pids of what it started, among them one that left the session.
RunRequest FamilyThatLasts() {
  RunRequest request = Shell(
      "trap '' TERM; sleep 600 & echo $!; setsid sleep 601 & echo $!; echo ready; wait; wait; "
      "wait");
  request.leads_session = true;
  request.grace = std::chrono::milliseconds(100);
  return request;
}

TEST(RunTest, EndsWhatAProgramStartedAtItsDeadline) {
  RealRunner runner;
  RunRequest request = FamilyThatLasts();
  std::vector<std::string> lines;
  request.on_line = [&](std::string_view line) { lines.emplace_back(line); };
  request.deadline = std::chrono::milliseconds(1);
  while (lines.empty() || lines.back() != "ready") {  // the machine may be slow
    lines.clear();
    request.deadline *= 2;

    EXPECT_THAT(runner.Run(request), StatusIs(StatusCode::kDeadlineExceeded));
  }

  ASSERT_THAT(lines, SizeIs(3));
  for (const size_t i : {0, 1}) {
    EXPECT_TRUE(HasEnded(std::stoi(lines[i]))) << lines[i];
  }
}

TEST(RunTest, EndsAProgramWhoseBeginningCannotBeNoted) {
  RealRunner runner;
  RunRequest request = FamilyThatLasts();
  pid_t began = 0;
  request.on_start = [&began](pid_t pid) {
    began = pid;
    return ResourceExhausted("no space");
  };

  EXPECT_THAT(runner.Run(request), StatusIs(StatusCode::kResourceExhausted, HasSubstr("no space")));

  EXPECT_TRUE(HasEnded(began));
}

// Ends as a verb does: whatever it ran is gone before it is.
TEST(RunTest, EndsItsProgramsBeforeItEndsByASignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t kgpu = fork();
  if (kgpu == 0) {
    RealRunner runner;
    RunRequest request = FamilyThatLasts();
    request.deadline = std::chrono::minutes(5);
    request.on_line = [&ends](std::string_view line) {
      const std::string text = std::string(line) + "\n";
      (void)!write(ends[1], text.data(), text.size());
    };
    (void)runner.Run(request);
    _exit(0);
  }
  close(ends[1]);
  std::string reported;
  while (!reported.ends_with("ready\n")) {
    char byte = 0;
    ASSERT_EQ(read(ends[0], &byte, 1), 1);
    reported += byte;
  }
  kill(kgpu, SIGTERM);
  int status = 0;
  ASSERT_EQ(waitpid(kgpu, &status, 0), kgpu);
  close(ends[0]);

  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_TRUE(HasEnded(std::stoi(reported)));
  EXPECT_TRUE(HasEnded(std::stoi(reported.substr(reported.find('\n') + 1))));
}

TEST(RunTest, DoesNotWaitForAGrandchildWithThePipes) {
  RealRunner runner;

  const auto result = runner.Run(Shell("sleep 2 & echo done"));

  ASSERT_OK(result);
  EXPECT_EQ(result->out, "done\n");
}

TEST(RunTest, NamesAProgramThatIsNotThere) {
  RealRunner runner;
  RunRequest request;
  request.argv = {"/no/such/program"};

  EXPECT_THAT(runner.Run(request), StatusIs(StatusCode::kNotFound, HasSubstr("/no/such/program")));
}

TEST(RunTest, ProgramsOfAnotherRootNeedIt) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "chroot needs root";
  }
  const TempDir root;
  RealRunner runner;
  RunRequest request;
  request.argv = {"/bin/true"};
  request.root = root.path();

  const auto result = runner.Run(request);

  ASSERT_OK(result);  // chroot itself ran, and found nothing there
  EXPECT_EQ(result->exit.code, 127);
  EXPECT_THAT(Describe(*result), HasSubstr("/bin/true"));
}

TEST(RunTest, TellsOfASignal) {
  RealRunner runner;

  const auto result = runner.Run(Shell("kill -9 $$"));

  ASSERT_OK(result);
  EXPECT_THAT(Describe(*result), EndsWith("signal 9"));
}

}  // namespace
}  // namespace kgpu::sys
