// The processes of a program that was started in its own session, with those that they started:
// found, awaited and ended together. Source: setsid(2), proc_pid_stat(5), pidfd_open(2).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/unique_fd.h"

struct pollfd;

namespace kgpu::sys {

struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // as the kernel truncates it
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  uint64_t start = 0;  // ticks since boot: with the pid, it identifies a process for good
};

// Parses /proc/PID/stat; nothing if the text is invalid.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
// For a process that lives or is a zombie, if it is visible to us.
std::optional<ProcessStat> StatOf(pid_t pid);

class Session {
 public:
  explicit Session(pid_t leader) : leader_(leader) {}

  // Looks for the processes that belong to the session now. A process that was found belongs to it
  // for as long as it lives, even if its parent ends or it leaves the session.
  void Look();
  bool IsOver() const { return members_.empty(); }
  // Sends `signal` to each process that has not got it yet.
  void Signal(int signal);
  // Each becomes readable when its process ends.
  std::vector<pollfd> Ends() const;
  // Waits until all have ended; false if some have not by `until`.
  bool Await(std::chrono::steady_clock::time_point until);
  // For people: "dpkg (process 71), make (process 80)".
  std::string Names() const;

 private:
  struct Member {
    std::string name;
    UniqueFd pidfd;
    int last_signal = 0;
  };
  void Take(const ProcessStat& process);

  pid_t leader_;
  std::map<pid_t, Member> members_;
};

}  // namespace kgpu::sys
