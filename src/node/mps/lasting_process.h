// A process that outlives this one: a daemon that an earlier agent may have started, and that goes
// on when the agent ends. Source: pidfd_open(2), waitid(2), proc(5).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/child_process.h"

namespace kgpu::mps {

// Known by its pidfd, so that a PID that has been reused is never meant.
class LastingProcess {
 public:
  // In a session of its own. Errors: those of ChildProcess::Spawn.
  static StatusOr<LastingProcess> Spawn(sys::SpawnOptions options);
  // One that runs already; with `start_time`, only if it began then. Errors: NotFound.
  static StatusOr<LastingProcess> Find(pid_t pid, std::optional<uint64_t> start_time = {});

  pid_t pid() const { return pid_; }
  // In clock ticks since boot.
  uint64_t start_time() const { return start_time_; }
  // Becomes readable when the process has ended.
  int pidfd() const { return pidfd_.get(); }
  // Whether it has ended. Ends what is left of its session then, if it is our child, and reaps it.
  bool HasEnded();
  // Sends SIGKILL. Errors: PermissionDenied.
  Status Kill() const;

 private:
  LastingProcess(pid_t pid, uint64_t start_time, UniqueFd pidfd, bool is_child)
      : pid_(pid), start_time_(start_time), pidfd_(std::move(pidfd)), is_child_(is_child) {}

  pid_t pid_ = -1;
  uint64_t start_time_ = 0;
  UniqueFd pidfd_;
  bool is_child_ = false;
};

}  // namespace kgpu::mps
