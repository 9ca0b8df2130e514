// The processes of a program that was started in a session of its own, and those that they started:
// seen, waited for and ended together. Source: setsid(2), proc_pid_stat(5), pidfd_open(2).
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
  std::string name;  // as the kernel cuts it off
  char state = '?';
  pid_t parent = 0;
  pid_t session = 0;
  uint64_t start = 0;  // ticks since the host's start: with the pid it tells a process for ever
};

// Of the text of /proc/PID/stat; nothing where it is none.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);
// Of a process that lives or is a zombie, among those that we see.
std::optional<ProcessStat> StatOf(pid_t pid);

class Session {
 public:
  explicit Session(pid_t leader) : leader_(leader) {}

  // Sees who belongs to it now. Once seen, a process belongs to it for as long as it lives, also
  // when its parent ends or it leaves the session.
  void Look();
  bool IsOver() const { return members_.empty(); }
  // To each that has not got this signal before.
  void Signal(int signal);
  // Each becomes readable when its process ends.
  std::vector<pollfd> Ends() const;
  // Waits until all have ended; false: some had not by then.
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
