// One child process that we started: killed and reaped through its pidfd, never by a bare pid that
// may have been reused. Source: pidfd_open(2), posix_spawn(3), waitid(2).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::sys {

// How a child ended: exactly one of the two is set.
struct ExitState {
  std::optional<int> code;
  std::optional<int> signal;
};

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is the program's path; PATH is not searched
  std::vector<std::string> environment;  // "NAME=value"; the whole environment of the child
  // Descriptors for the child, as {ours, number in the child}; exec closes all others. 0, 1 and 2
  // are /dev/null, /dev/null and our stderr unless given here.
  std::vector<std::pair<int, int>> fds;
  bool leads_session = false;  // a new session, without a terminal
  bool leads_group = false;    // a new process group; see KillGroup
};

class ChildProcess {
 public:
  // Errors: NotFound (no such program, or no such ELF interpreter), PermissionDenied,
  // ResourceExhausted.
  static StatusOr<ChildProcess> Spawn(const SpawnOptions& options);

  ChildProcess(ChildProcess&&) = default;
  ChildProcess& operator=(ChildProcess&&) = delete;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  // Kills without waiting, and reaps the child if it is already dead. Owners that need the child
  // gone watch pidfd() and call TryReap first.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // Becomes readable when the child has ended; for an event loop.
  int pidfd() const { return pidfd_.get(); }
  // Sends SIGKILL. Not an error if the child has already ended.
  Status Kill();
  // Sends SIGKILL to the child and everything it started, except what left its process group. Only
  // for a child that leads a group, and before it is reaped: afterwards its number may be reused.
  Status KillGroup();
  // Lets the child run on when this is destroyed. The new owner of the pidfd reaps it.
  UniqueFd Release() { return std::move(pidfd_); }
  // Reaps without waiting: the exit state, or nothing while the child runs.
  std::optional<ExitState> TryReap();

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<ExitState> exit_state_;
};

}  // namespace kgpu::sys
