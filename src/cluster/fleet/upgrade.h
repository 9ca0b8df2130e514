// The upgrade of a node's driver, one step after another, and which nodes may start. Pure
// functions: what is observed → what to do. docs/reference/controller.md has the states.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/fleet/node_facts.h"
#include "src/cluster/fleet/record.h"
#include "src/cluster/policy/gpu_policy.h"

namespace kgpu::fleet {

inline constexpr std::string_view kInstallRole = "install";
inline constexpr std::string_view kValidateRole = "validate";

enum class StepKind : uint8_t {
  kWait,       // nothing to do until something changes, or time passes
  kWrite,      // write `record` to the node, and cordon it
  kFinish,     // remove the record, and make the node schedulable again if we had cordoned it
  kEvict,      // evict `pods`
  kRunPod,     // create the pod `pod` of role `role` on the node
  kDeletePod,  // delete the pod in `pods`
};

struct Step {
  StepKind kind = StepKind::kWait;
  std::string reason{};   // of an event: "UpgradeFailed"; empty: no event
  std::string message{};  // what happened, or what is waited for
  UpgradeRecord record{};
  std::vector<PodFacts> pods{};
  std::string role{};
  std::string pod{};
  uint64_t gpus = 0;  // that a pod of role kValidateRole validates
};

// What the node's group asks for now; nothing: no driver of ours.
struct UpgradeGoal {
  policy::DriverSource from = policy::DriverSource::kPackage;
  std::string driver{};
};

struct UpgradeInput {
  const NodeFacts& node;
  const UpgradeRecord& record;
  const std::optional<UpgradeGoal>& goal;
  const policy::Upgrade& settings;
  std::span<const PodFacts> pods;  // on the node
  bool validates = true;           // by a pod, beside the agent's condition
  std::string pod_problem{};       // why the server refuses our pod; empty: it does not
  WallTime now{};
};

Step NextUpgradeStep(const UpgradeInput& input);

// A node of a group. A record that cannot be read counts as a failed one.
struct GroupNode {
  const NodeFacts* node;
  std::optional<UpgradeRecord> record{};
};

struct StartInput {
  std::span<const GroupNode> nodes;  // of the group, with GPUs
  std::set<std::string> starting{};  // decided, but not yet seen on the node
  UpgradeGoal goal{};
  policy::Upgrade settings{};
};

struct StartPlan {
  std::vector<std::string> starts{};
  size_t outdated = 0;     // nodes with another driver, in progress or not
  size_t in_progress = 0;  // without the failed ones
  size_t failed = 0;
  size_t unavailable = 0;  // for whatever reason
  std::string hold{};      // why no further node starts: "UpgradePaused"; empty: none is held back
};

// Whether the node's driver is not what the goal asks for.
bool IsOutdated(const NodeFacts& node, const UpgradeGoal& goal);

// Which nodes start now. Never so many that more than maxUnavailable nodes of the group are
// unavailable because of it: every node counts that is, those cordoned or broken by others too. A
// node that is unavailable anyway may start, since that makes no difference; nodes whose kubelet is
// not ready wait.
StartPlan PlanStarts(const StartInput& input);

// The first record of a node that starts.
UpgradeRecord FirstRecord(const NodeFacts& node, const UpgradeGoal& goal, std::string_view policy,
                          std::string_view group, WallTime now);

}  // namespace kgpu::fleet
