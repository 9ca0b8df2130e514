#include "src/platform/sys/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "src/platform/sys/pipe.h"
#include "src/platform/sys/read_fd.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

// Waits for the end of a child through its pidfd, as a loop does.
ExitState WaitFor(ChildProcess& child) {
  pollfd ended{.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 10'000), 1);
  const auto state = child.TryReap();
  EXPECT_TRUE(state.has_value());
  return state.value_or(ExitState{});
}

std::string OutputOf(std::vector<std::string> argv, std::vector<std::string> environment = {}) {
  StatusOr<Pipe> made = MakePipe();
  EXPECT_TRUE(made.ok());
  Pipe pipe = *std::move(made);
  auto child = ChildProcess::Spawn({.argv = std::move(argv),
                                    .environment = std::move(environment),
                                    .fds = {{pipe.write.get(), STDOUT_FILENO}}});
  EXPECT_OK(child);
  pipe.write.Reset();
  std::string out = ReadAll(pipe.read.get(), 1 << 16).value_or("?");
  EXPECT_THAT(WaitFor(*child).code, Optional(0));
  return out;
}

TEST(ChildProcessTest, TellsTheExitCode) {
  auto child =
      ChildProcess::Spawn({.argv = {"/bin/sh", "-c", "exit 7"}, .environment = {}, .fds = {}});
  ASSERT_OK(child);
  const ExitState state = WaitFor(*child);
  EXPECT_THAT(state.code, Optional(7));
  EXPECT_EQ(state.signal, std::nullopt);
  EXPECT_THAT(child->TryReap().value_or(ExitState{}).code, Optional(7)) << "asked twice";
}

TEST(ChildProcessTest, KillEndsItAndASecondKillIsNoError) {
  auto child = ChildProcess::Spawn({.argv = {"/bin/sleep", "1000"}, .environment = {}, .fds = {}});
  ASSERT_OK(child);
  EXPECT_EQ(child->TryReap(), std::nullopt);
  EXPECT_OK(child->Kill());
  EXPECT_THAT(WaitFor(*child).signal, Optional(SIGKILL));
  EXPECT_OK(child->Kill());
}

TEST(ChildProcessTest, AMissingProgramIsNamed) {
  EXPECT_THAT(ChildProcess::Spawn({.argv = {"/no/such/program"}, .environment = {}, .fds = {}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("/no/such/program")));
}

TEST(ChildProcessTest, TheChildGetsOnlyTheEnvironmentGiven) {
  EXPECT_EQ(OutputOf({"/bin/sh", "-c", "echo $A-$HOME"}, {"A=1"}), "1-\n");
}

TEST(ChildProcessTest, NoDescriptorLeaksOverExec) {
  const UniqueFd close_on_exec(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd inherited(open("/dev/null", O_RDONLY));  // NOLINT(android-cloexec-open): the point
  ASSERT_TRUE(close_on_exec.is_valid() && inherited.is_valid());
  // 3 is the folder that ls itself reads.
  EXPECT_EQ(OutputOf({"/bin/ls", "/proc/self/fd"}), "0\n1\n2\n3\n");
}

TEST(ChildProcessTest, ADescriptorIsPassedUnderTheNumberAsked) {
  StatusOr<Pipe> made = MakePipe();
  EXPECT_TRUE(made.ok());
  Pipe pipe = *std::move(made);
  ASSERT_OK(WriteAll(pipe.write.get(), "hello\n"));
  auto child = ChildProcess::Spawn({.argv = {"/bin/sh", "-c", "read x <&9 && [ \"$x\" = hello ]"},
                                    .environment = {},
                                    .fds = {{pipe.read.get(), 9}}});
  ASSERT_OK(child);
  EXPECT_THAT(WaitFor(*child).code, Optional(0));
}

TEST(ChildProcessTest, TheChildStartsWithNoSignalBlocked) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const std::string mask = OutputOf({"/bin/grep", "SigBlk", "/proc/self/status"});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_THAT(mask, HasSubstr("0000000000000000"));
}

}  // namespace
}  // namespace kgpu::sys
