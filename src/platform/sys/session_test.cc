#include "src/platform/sys/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>
#include <csignal>

#include <array>

#include "src/platform/sys/child_process.h"
#include "testing/status_matchers.h"

namespace kgpu::sys {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::minutes kLong{2};

std::chrono::steady_clock::time_point In(std::chrono::milliseconds time) {
  return std::chrono::steady_clock::now() + time;
}

// A shell in a session of its own, whose script prints a line when it is ready.
ChildProcess ShellThatIsReady(std::string script) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  auto child = ChildProcess::Spawn({.argv = {"/bin/sh", "-c", std::move(script)},
                                    .environment = {"PATH=/usr/bin:/bin"},
                                    .fds = {{ends[1], STDOUT_FILENO}},
                                    .leads_session = true});
  EXPECT_OK(child);
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 1);
  close(ends[0]);
  return *std::move(child);
}

TEST(SessionTest, ReadsWhatTheKernelSaysOfAProcess) {
  const auto stat =
      ParseProcessStat("71 (a) b (c) S 1 70 69 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 9 9 9\n");

  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->pid, 71);
  EXPECT_EQ(stat->name, "a) b (c");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->session, 69);
  EXPECT_EQ(stat->start, 4711U);
  for (const char* text :
       {"", "71", "71 (a", "71 (a) S 1", "x (a) S 1 70 69 0 -1 4 1 2 3 4 5 6 7 8 9 0 1 2 3"}) {
    EXPECT_FALSE(ParseProcessStat(text).has_value()) << text;
  }
}

TEST(SessionTest, SeesWhatTheProgramStartedAndEndsIt) {
  const ChildProcess child = ShellThatIsReady("sleep 600 & setsid sleep 601 & echo; wait");
  Session session(child.pid());

  EXPECT_FALSE(session.Await(In(std::chrono::milliseconds(0))));
  EXPECT_THAT(session.Names(), HasSubstr(fmt::format("sh (process {})", child.pid())));
  session.Signal(SIGKILL);

  EXPECT_TRUE(session.Await(In(kLong)));
  EXPECT_EQ(session.Names(), "");
}

TEST(SessionTest, IsOfThoseWhoseLeaderEnded) {
  ChildProcess child = ShellThatIsReady("sleep 600 & echo");
  pollfd end = {child.pidfd(), POLLIN, 0};
  ASSERT_EQ(poll(&end, 1, -1), 1);
  ASSERT_TRUE(child.TryReap().has_value());
  Session session(child.pid());

  EXPECT_FALSE(session.Await(In(std::chrono::milliseconds(0))));
  session.Signal(SIGTERM);

  EXPECT_TRUE(session.Await(In(kLong)));
}

TEST(SessionTest, IsOverWhereNobodyIs) {
  Session session(1 << 29);  // above the kernel's greatest pid

  EXPECT_TRUE(session.Await(In(std::chrono::milliseconds(0))));
  EXPECT_FALSE(StatOf(1 << 29).has_value());
}

}  // namespace
}  // namespace kgpu::sys
