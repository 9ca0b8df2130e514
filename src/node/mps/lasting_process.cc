#include "src/node/mps/lasting_process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::mps {
namespace {

// When a process began. The name before it may hold anything, so fields are counted from its last
// bracket. Source: proc(5), /proc/<pid>/stat.
StatusOr<uint64_t> StartTimeOf(pid_t pid) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(fmt::format("/proc/{}/stat", pid)));
  constexpr size_t kStart = 22;  // counted from 1
  constexpr size_t kState = 3;   // the first behind the name
  const size_t name_end = text.rfind(") ");
  if (name_end != std::string::npos) {
    const auto fields = Split(std::string_view(text).substr(name_end + 2), ' ');
    if (fields.size() > kStart - kState) {
      if (const auto start = ParseUint(fields[kStart - kState])) {
        return *start;
      }
    }
  }
  return Internal("/proc/{}/stat has no start time", pid);
}

}  // namespace

StatusOr<LastingProcess> LastingProcess::Spawn(sys::SpawnOptions options) {
  options.leads_session = true;
  ASSIGN_OR_RETURN(sys::ChildProcess child, sys::ChildProcess::Spawn(options));
  // Not reaped before: the PID is the child's.
  ASSIGN_OR_RETURN(const uint64_t start, StartTimeOf(child.pid()));
  return LastingProcess(child.pid(), start, child.Release(), true);
}

StatusOr<LastingProcess> LastingProcess::Find(pid_t pid, std::optional<uint64_t> start_time) {
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.is_valid()) {
    return NotFound("process {} does not run", pid);
  }
  const StatusOr<uint64_t> start = StartTimeOf(pid);
  if (!start.ok() || (start_time && *start != *start_time)) {
    return NotFound("process {} has ended, or its PID is another's", pid);
  }
  LastingProcess process(pid, *start, std::move(pidfd), false);
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
