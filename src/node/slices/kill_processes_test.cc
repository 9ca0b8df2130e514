#include "src/node/slices/kill_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

using ::testing::HasSubstr;

// A child that waits for ever.
pid_t StartChild() {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) {
      pause();
    }
  }
  return child;
}

int SignalThatEnded(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(KillProcessesTest, KillsOnlyThoseThatAreMeant) {
  const pid_t first = StartChild();
  const pid_t second = StartChild();
  const std::array<uint32_t, 2> pids = {static_cast<uint32_t>(first),
                                        static_cast<uint32_t>(second)};
  const auto killed = KillProcesses(pids, [&](uint32_t pid) { return pid == pids[0]; });
  ASSERT_OK(killed);
  EXPECT_EQ(*killed, 1U);
  EXPECT_EQ(SignalThatEnded(first), SIGKILL);
  kill(second, SIGTERM);
  EXPECT_EQ(SignalThatEnded(second), SIGTERM);
  // Both are gone now; whoever has their numbers is not meant.
  EXPECT_EQ(KillProcesses(pids, [](uint32_t) { return false; }).value_or(7), 0U);
}

TEST(KillProcessesTest, APidMeansTheSameInOnePidNamespaceOnly) {
  TempDir dir;
  const auto host = sys::Root::Open(dir.At(""));
  ASSERT_OK(host);
  EXPECT_THAT(CheckPidNamespace(*host), StatusIs(StatusCode::kNotFound));
  dir.WriteFile("proc/self/status", "Name:\tkgpu\nNSpid:\t4711\t1\n");
  EXPECT_THAT(CheckPidNamespace(*host),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("hostPID: true")));
  dir.WriteFile("proc/self/status", "Name:\tkgpu\nNSpid:\t4711\n");
  EXPECT_OK(CheckPidNamespace(*host));
}

TEST(KillProcessesTest, AProcessIsInThePodOfItsCgroup) {
  TempDir dir;
  dir.WriteFile("proc/7/cgroup",
                "0::/kubepods.slice/kubepods-besteffort.slice/"
                "kubepods-besteffort-pod0a1b2c3d_0000_0000_0000_000000000000.slice/"
                "cri-containerd-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
                ".scope\n");
  const auto host = sys::Root::Open(dir.At(""));
  ASSERT_OK(host);
  EXPECT_TRUE(IsInPod(*host, 7, "0a1b2c3d-0000-0000-0000-000000000000"));
  EXPECT_FALSE(IsInPod(*host, 7, "ffffffff-0000-0000-0000-000000000000"));
  EXPECT_FALSE(IsInPod(*host, 7, ""));
  EXPECT_FALSE(IsInPod(*host, 8, "0a1b2c3d-0000-0000-0000-000000000000"));
}

}  // namespace
}  // namespace kgpu::slices
