// A node on which agent, probe and kubelet are killed at random while pods come and go, and the
// invariants once everything has settled.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "testing/kubelet/fake_kubelet.h"
#include "tests/integration/agent_node.h"

namespace kgpu::integration {

struct ChaosCounts {
  uint64_t agents_killed = 0;
  uint64_t probes_killed = 0;
  uint64_t kubelets_killed = 0;
  uint64_t doubles = 0;  // rounds in which two of them were killed
  uint64_t pods = 0;
  uint64_t refused = 0;  // pods that the kubelet refused: the plugin was away
};

struct AgentSize {
  size_t open_files = 0;
  size_t resident_kib = 0;
};

// Lives on one thread; processes and the kubelet's thread beside it.
class ChaosNode {
 public:
  ChaosNode(config::Registration registration, uint32_t seed);

  // Starts everything. Returns what went wrong; empty if all is ok, like the other methods.
  std::string Start();
  // Pods come and go, and something is killed; `may_kill_agent` is false if an agent should live
  // long.
  void Blow(bool may_kill_agent);
  // Waits until everything has settled, and checks the invariants.
  std::string Settle();

  AgentSize agent_size() const;
  const ChaosCounts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum Victim : uint8_t { kAgent = 1, kProbe = 2, kKubelet = 4 };

  uint32_t Random(uint32_t below) { return random_() % below; }
  void Pause();
  void ChurnPods();
  void Kill(uint32_t victims);
  void StartAgent();
  void KillProbe();
  bool HaveDevicesSettled() const;
  bool HavePodsSettled() const;
  bool HasAgentSettled() const;
  std::string CheckPods() const;
  std::string CheckFolders() const;

  std::mt19937 random_;
  AgentNode node_;
  kubelet::FakeKubelet kubelet_;
  ChaosCounts counts_;
  unsigned probe_deaths_ = 0;  // in a row, as the agent sees them
  pid_t probe_ = 0;            // as of the last settling
  Clock::time_point probe_since_;
};

}  // namespace kgpu::integration
