// The environment of the agent's benchmarks: a simulated host with folders for a kubelet, and our
// programs in the background.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {

using SteadyPoint = std::chrono::steady_clock::time_point;

// In milliseconds.
double Since(SteadyPoint start, SteadyPoint end);

Row MakeRow(std::string what, std::string unit, std::string floor, std::string budget);

// A program in the background, its output discarded; killed at the end.
class Daemon {
 public:
  explicit Daemon(std::vector<std::string> argv);
  ~Daemon() { End(SIGKILL); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const { return pid_; }
  SteadyPoint started() const { return started_; }
  // Milliseconds from the signal until the process has ended.
  double End(int signal);

 private:
  pid_t pid_ = -1;
  SteadyPoint started_;
};

// Ends the benchmark if kgpu-sim cannot create the host.
class SimNode {
 public:
  explicit SimNode(const std::string& profile);
  ~SimNode();
  SimNode(const SimNode&) = delete;
  SimNode& operator=(const SimNode&) = delete;

  std::string host() const { return dir_.At("host"); }
  std::string kubelet() const { return dir_.At("kubelet"); }
  std::string echo() const { return dir_.At("echo"); }
  std::string run_dir() const { return dir_.At("run"); }
  // The simulated libnvidia-ml.so.1.
  std::string library() const;
  // Argv of an agent for this node.
  std::vector<std::string> Agent() const;
  // Deletes what the agent saved for a restart.
  void Forget() const;
  // `strategy` is plugin.deviceListStrategy; `more` are further lines of the configuration.
  void WriteConfig(const std::string& strategy, const std::string& more = "") const;

 private:
  TempDir dir_;
};

}  // namespace kgpu::bench
