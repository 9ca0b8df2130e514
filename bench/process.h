// Runs programs and reads their cost from the kernel.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace kgpu::bench {

struct Cost {
  int code = -1;
  double milliseconds = 0;      // from spawn to reaped
  double cpu_milliseconds = 0;  // of its own; less affected by other load
  double peak_mib = 0;          // largest resident set of the program (its own children excluded)
};

// Output goes to /dev/null.
Cost RunAndMeasure(const std::vector<std::string>& argv);

// Starts a program with its standard output as a pipe and waits for the first byte on it.
// Returns the pid, or -1.
pid_t StartAndWaitReady(const std::vector<std::string>& argv);
// SIGKILL and reap.
void Stop(pid_t pid);

// Proportional and resident memory in KiB. Source: /proc/<pid>/smaps_rollup.
struct Memory {
  double pss_kib = 0;
  double rss_kib = 0;
  double private_kib = 0;
};
Memory MemoryOf(pid_t pid);

// User and system time so far, in milliseconds: of each thread of a process by its name (threads of
// one name together), and of all of them. Source: /proc/<pid>/task/*/schedstat, whose first number
// is in nanoseconds.
std::map<std::string, double> CpuMsOfThreads(pid_t pid);
double CpuMs(pid_t pid);

// The pid of the child of `parent` whose program is called `name`, or -1.
pid_t FindChild(const std::string& name, pid_t parent);

}  // namespace kgpu::bench
