// Fences nodes whose GPUs are broken, and lets them return only after a validation. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "src/cluster/fleet/node_facts.h"
#include "src/cluster/fleet/record.h"
#include "src/cluster/policy/gpu_policy.h"

namespace kgpu::fleet {

enum class FenceStepKind : uint8_t {
  kWait,
  kFence,    // write `record` and the taint
  kWrite,    // write `record`
  kRelease,  // remove both
  kRunPod,   // create the pod `pod`, which validates `gpus` GPUs
};

struct FenceStep {
  FenceStepKind kind = FenceStepKind::kWait;
  std::string reason{};   // of an event; empty: none
  std::string message{};  // what happened, or what is waited for
  FenceRecord record{};
  std::string pod{};
  uint64_t gpus = 0;
};

struct FenceInput {
  const NodeFacts& node;
  // Of the node's policy; nothing: it has none, and is released.
  const policy::Quarantine* settings = nullptr;
  std::string policy{};
  std::string group{};
  std::span<const PodFacts> pods;  // on the node; needed only for a node with a record
  bool has_room = true;            // maxNodes allows one more
  bool validates = true;           // by a pod, beside the agent's conditions
  std::string pod_problem{};       // why the server refuses our pod; empty: it does not
  WallTime now{};
};

// Whether the agent reports a fault for which the policy fences nodes.
bool IsBroken(const NodeFacts& node, const policy::Quarantine& settings);

FenceStep NextFenceStep(const FenceInput& input);

}  // namespace kgpu::fleet
