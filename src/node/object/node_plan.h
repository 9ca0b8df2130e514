// What is to be written to a Node object so that it carries what it should: pure, and level by
// level. After each write the plan is made again from what the server answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/labels/node_claims.h"
#include "src/node/object/chain.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/clock.h"

namespace kgpu::node {

inline constexpr std::string_view kGateTaintKey = "kgpu.dev/not-ready";
// Which taints and extended resources are ours, so that another run of us can take them back:
// "key:effect,…" and "name,…".
inline constexpr std::string_view kTaintsAnnotation = "kgpu.dev/taints";
inline constexpr std::string_view kResourcesAnnotation = "kgpu.dev/extended-resources";

enum class DesiredTaint : uint8_t {
  kLeave,  // as it is
  kSet,
  kLift,
};

struct DesiredGate {
  std::optional<ConditionText> condition{};  // nothing: none of ours on the node
  DesiredTaint taint = DesiredTaint::kLeave;
  bool operator==(const DesiredGate&) const = default;
};

// The condition about the GPUs' health without its time.
struct HealthText {
  std::string status{};  // True, False, Unknown
  std::string reason{};
  std::string message{};
  bool operator==(const HealthText&) const = default;
};

struct DesiredHealth {
  std::optional<HealthText> condition{};  // nothing: none of ours on the node
  bool operator==(const DesiredHealth&) const = default;
};

// Each part is left as it is on the node while it is not decided: an agent that has just started
// takes nothing back.
struct Wanted {
  std::optional<labels::NodeClaims> claims{};
  std::optional<DesiredGate> gate{};
  std::optional<DesiredHealth> health{};
  bool operator==(const Wanted&) const = default;
};
// Nothing of ours on the node.
Wanted NothingWanted();

// What is claimed and not written, because it is somebody else's.
struct Skipped {
  std::string kind{};  // label, annotation, taint, resource
  std::string key{};
  std::string wanted{};
  std::string present{};  // empty: nothing is there
  std::string owner{};    // "Node Feature Discovery", "kubectl-label"
  bool operator==(const Skipped&) const = default;
};

enum class WriteKind : uint8_t {
  kCondition,
  kGateTaint,
  kHealthCondition,
  kKeys,
  kTaints,
  kResources
};
inline constexpr size_t kWriteKinds = 6;
// "condition", "gate taint", "health condition", "labels", "taints", "extended resources".
std::string_view ToString(WriteKind kind);

struct Write {
  WriteKind kind = WriteKind::kKeys;
  std::vector<std::string> changes{};  // what it does, for people: "label + a=b"
  kube::ApiRequest request{};
};

struct NodePlan {
  // At most one of a kind, and each could be done alone, now; none: the node is as it should be.
  // What depends on another comes in the plan after that was done.
  std::vector<Write> writes{};
  std::vector<Skipped> skipped{};      // sorted by kind, key
  std::vector<std::string> changes{};  // all that differs, also what cannot be written yet
};

// `now` becomes the time of a condition that changes its status.
NodePlan PlanNode(const SeenNode& node, const Wanted& wanted, const Owners& owners, WallTime now);

}  // namespace kgpu::node
