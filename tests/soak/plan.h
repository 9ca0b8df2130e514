// The actions on a node, as the seed decides: workloads that come and go, and faults from every
// side. It knows nothing of the node, so that a seed always means the same actions.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/soak/seed.h"

namespace kgpu::soak {

// A node's configuration, as far as it decides who gets which devices.
struct Layout {
  std::string_view name;
  std::string_view text;      // of the configuration file, for GPUs 0 and 1
  std::string_view resource;  // of the pods; empty: they have claims
  std::string_view memory{};  // of a claim for a part of a GPU
  uint32_t most = 2;          // devices of a pod
};
const std::vector<Layout>& Layouts();
// The instances that GPU 2, which always is in MIG mode, may be divided into: "[3g.40gb, 4g.40gb]",
// and the profile that pods request.
struct MigLayout {
  std::string_view text;
  std::string_view profile;
};
const std::vector<MigLayout>& MigLayouts();

// A fault of the driver or of one of `gpus` GPUs, by the verb of kgpu-sim.
Action DriverFault(Dice& dice, uint32_t gpus);

// One round: what happens before everything is repaired and must come to rest.
struct Round {
  std::vector<Action> actions;
  bool has_faults = false;  // or edits of the configuration: pods may be refused
};

class Plan {
 public:
  // Rounds in which the agent may end are followed by many in which it lives, so that what it holds
  // can be seen to grow.
  static constexpr size_t kEra = 2000;
  static constexpr size_t kKillsOfEra = 300;

  explicit Plan(uint32_t seed) : dice_(seed) {}

  Round Next();
  size_t rounds() const { return rounds_; }
  const Layout& layout() const { return Layouts()[layout_]; }
  const MigLayout& mig() const { return MigLayouts()[mig_]; }

 private:
  Action Workload();
  Action Start(std::string kind, std::deque<std::string>& live);
  Action End(std::string verb, std::deque<std::string>& live);
  Action Edit();
  Action Fault();
  Action ClusterFault();
  Action AgentFault();

  Dice dice_;
  size_t rounds_ = 0;
  uint64_t names_ = 0;
  size_t layout_ = 0;
  size_t mig_ = 0;
  std::deque<std::string> pods_{};  // all that run, with claims too
  std::deque<std::string> loans_{};
};

}  // namespace kgpu::soak
