#include "src/cli/mig/mig_evict.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::cli {
namespace {

constexpr std::chrono::milliseconds kAfterKill{5000};

struct Victim {
  uint32_t pid = 0;
  UniqueFd pidfd;
};

// Nothing where the process has ended meanwhile. Source: pidfd_open(2).
StatusOr<std::vector<Victim>> OpenVictims(const std::vector<const mig::User*>& users) {
  std::vector<Victim> victims;
  for (const mig::User* user : users) {
    if (user->pid == 0) {
      return FailedPrecondition("{} uses it: delete the pod, or drain the node", user->text);
    }
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, user->pid, 0)));
    if (pidfd.get() >= 0) {
      victims.push_back({.pid = user->pid, .pidfd = std::move(pidfd)});
    } else if (errno != ESRCH) {
      return ErrnoStatus(errno, fmt::format("end process {}", user->pid));
    }
  }
  return victims;
}

Status Signal(const Victim& victim, int signal) {
  if (syscall(SYS_pidfd_send_signal, victim.pidfd.get(), signal, nullptr, 0) != 0 &&
      errno != ESRCH) {
    return ErrnoStatus(errno, fmt::format("end process {}", victim.pid));
  }
  return OkStatus();
}

// A pidfd is readable once its process has ended.
bool HasEnded(const Victim& victim, std::chrono::milliseconds limit) {
  pollfd watched{.fd = victim.pidfd.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&watched, 1, static_cast<int>(limit.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

Status EvictMigUsers(const sys::Root& host, const std::vector<const mig::User*>& users,
                     std::chrono::milliseconds grace) {
  if (host.path() != "/") {
    return FailedPrecondition("--evict ends processes of the running system only, not of {}",
                              host.path());
  }
  ASSIGN_OR_RETURN(const std::vector<Victim> victims, OpenVictims(users));
  for (const Victim& victim : victims) {
    RETURN_IF_ERROR(Signal(victim, SIGTERM));
  }
  for (const Victim& victim : victims) {
    if (HasEnded(victim, grace)) {
      continue;
    }
    RETURN_IF_ERROR(Signal(victim, SIGKILL));
    if (!HasEnded(victim, kAfterKill)) {
      return DeadlineExceeded("process {} outlives SIGKILL: reboot the host", victim.pid);
    }
  }
  return OkStatus();
}

}  // namespace kgpu::cli
