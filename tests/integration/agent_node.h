// A machine with GPUs and an agent, as a kubelet finds it: a simulated host and the built
// programs.
#pragma once

#include <sys/types.h>

#include <boost/json/value.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/node/config/node_config.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::integration {

class AgentNode {
 public:
  struct Options {
    std::string profile = "4xT4";
    config::Registration registration = config::Registration::kKubeletSocket;
    std::string strategy = "auto";  // plugin.deviceListStrategy
    std::string more_config = {};   // lines after ours
    unsigned flap_limit = 0;  // health.flapLimit.times; 0: a device may fail any number of times
    std::string hold_down = "50ms";  // health.holdDown
    std::string more_health = {};    // more of health: "every: 1s, rules: {…}"
  };

  // The host; no agent runs yet.
  explicit AgentNode(const Options& options);

  e2e::SimHost& host() { return host_; }
  std::string kubelet_root() const { return host_.dir().At("kubelet"); }
  std::string run_dir() const { return host_.dir().At("run"); }
  std::string state_dir() const { return host_.dir().At("state"); }
  std::string cdi_folder() const { return host_.path() + "/run/cdi"; }

  // With `more` on its command line.
  void StartAgent(const std::vector<std::string>& more = {});
  // Sends `signal` and waits for the end. Returns how long that took.
  std::chrono::duration<double, std::milli> EndAgent(int signal = SIGTERM);
  // 0 while no agent runs.
  pid_t agent_pid() const { return agent_ ? agent_->pid() : 0; }
  // Waits for the agent's end, at most `limit`. True: it is still running.
  bool RunsFor(std::chrono::milliseconds limit) const { return agent_->RunsFor(limit); }
  // Processes whose parent is the agent, with their state as in /proc/<pid>/stat.
  std::map<pid_t, char> AgentChildren() const;

  // CPU time of the agent and of what it started, including ended processes. Only the difference
  // between two calls is meaningful.
  std::chrono::milliseconds CpuTime() const;

  // The output of `kgpu status`; null while no agent answers.
  boost::json::value Status() const;
  // Waits until `condition` holds for the output of `kgpu status`.
  bool WaitForStatus(const std::function<bool(const boost::json::value&)>& condition,
                     std::chrono::milliseconds limit = std::chrono::seconds(20)) const;
  // UUIDs of the GPUs by NVML's index, as the driver has them now.
  std::vector<std::string> GpuUuids() const;
  // Problems of the host's CDI folders, including files there that are no specs; empty if there are
  // none.
  std::vector<std::string> CdiProblems() const;
  // Only persistent ones: a file that is just being written is no problem.
  std::vector<std::string> LastingCdiProblems() const;
  // The devices that engines can inject: "kgpu.dev/gpu=GPU-…".
  std::vector<std::string> CdiDevices() const;

 private:
  e2e::SimHost host_;
  std::unique_ptr<e2e::Background> agent_;
};

// "Registered", for a resource of a status; empty when it has none of this name.
std::string StateOf(const boost::json::value& status, const std::string& resource);

}  // namespace kgpu::integration
