#include "src/node/mps/lasting_process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/session.h"

namespace kgpu::mps {
StatusOr<LastingProcess> LastingProcess::Spawn(sys::SpawnOptions options) {
  options.leads_session = true;
  ASSIGN_OR_RETURN(sys::ChildProcess child, sys::ChildProcess::Spawn(options));
  // Not reaped before: the PID is the child's.
  const std::optional<sys::ProcessStat> stat = sys::StatOf(child.pid());
  if (!stat) {
    return Internal("/proc/{}/stat has no start time", child.pid());
  }
  return LastingProcess(child.pid(), stat->start, child.Release(), true);
}

StatusOr<LastingProcess> LastingProcess::Find(pid_t pid, std::optional<uint64_t> start_time) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.is_valid()) {
    return NotFound("process {} does not run", pid);
  }
  const std::optional<sys::ProcessStat> stat = sys::StatOf(pid);
  if (!stat || (start_time && stat->start != *start_time)) {
    return NotFound("process {} has ended, or its PID is another's", pid);
  }
  LastingProcess process(pid, stat->start, std::move(pidfd), false);
  if (process.HasEnded()) {
    return NotFound("process {} has ended", pid);
  }
  return process;
}

bool LastingProcess::HasEnded() {
  pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, 0) != 1) {
    return false;
  }
  if (std::exchange(is_child_, false)) {
    // The number of the group is free only once its leader is reaped.
    (void)kill(-pid_, SIGKILL);
    siginfo_t info{};
    (void)waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
  }
  return true;
}

Status LastingProcess::Kill() const {
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("kill process {}", pid_));
  }
  return OkStatus();
}

}  // namespace kgpu::mps
