#include "src/node/share/kill_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::share {
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
  EXPECT_OK(KillProcesses(pids, [&](uint32_t pid) { return pid == pids[0]; }));
  EXPECT_EQ(SignalThatEnded(first), SIGKILL);
  kill(second, SIGTERM);
  EXPECT_EQ(SignalThatEnded(second), SIGTERM);
  // Both are gone now.
  EXPECT_OK(KillProcesses(pids, [](uint32_t) { return true; }));
}

TEST(KillProcessesTest, APidMeansTheSameInOnePidNamespaceOnly) {
  const auto own = sys::Root::Open("/");
  ASSERT_OK(own);
  TempDir dir;
  dir.MakeDir("proc/1/ns");
  const auto host = sys::Root::Open(dir.At(""));
  ASSERT_OK(host);
  EXPECT_THAT(CheckPidNamespace(*host, *own),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("hostPID: true")));
  const auto ours = own->ReadLink("/proc/self/ns/pid");
  ASSERT_OK(ours);
  ASSERT_EQ(symlink(ours->c_str(), dir.At("proc/1/ns/pid").c_str()), 0);
  EXPECT_OK(CheckPidNamespace(*host, *own));
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
}  // namespace kgpu::share
