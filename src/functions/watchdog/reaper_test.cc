#include "src/functions/watchdog/reaper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>

#include "src/platform/sys/child_process.h"
#include "testing/status_matchers.h"

namespace kgpu::watchdog {
namespace {

// Waits until any child has ended, without reaping it; its number, or 0 if there is none.
pid_t EndedChild() {
  siginfo_t info{};
  return waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) == 0 ? info.si_pid : 0;
}

class ReaperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Other tests have killed theirs without waiting.
    while (waitpid(-1, nullptr, 0) > 0) {
    }
    AdoptOrphans();
  }
  void TearDown() override { (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0); }
};

TEST_F(ReaperTest, ReapsWhatAChildHasLeftBehind) {
  {
    auto parent = sys::ChildProcess::Spawn(
        {.argv = {"/bin/sh", "-c", "/bin/true & exit 0"}, .environment = {}, .fds = {}});
    ASSERT_OK(parent);
    // Whichever ends first: the orphan shows up once its parent is reaped.
    siginfo_t info{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(parent->pid()), &info, WEXITED | WNOWAIT), 0);
    ASSERT_TRUE(parent->TryReap());
  }
  // Nothing, if the shell has reaped it itself.
  if (EndedChild() != 0) {
    ReapOrphans([](pid_t) { return false; });
  }
  EXPECT_EQ(EndedChild(), 0);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(ReaperTest, LeavesOurOwnToTheirOwners) {
  auto child = sys::ChildProcess::Spawn({.argv = {"/bin/true"}, .environment = {}, .fds = {}});
  ASSERT_OK(child);
  ASSERT_EQ(EndedChild(), child->pid());
  ReapOrphans([&](pid_t pid) { return pid == child->pid(); });
  EXPECT_EQ(child->TryReap()->code, 0);
}

}  // namespace
}  // namespace kgpu::watchdog
