// Plans the writes to a Node object so that it carries what it should: a pure function of the
// current state. After each write, plan again from the server's response.
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
// Record which taints and extended resources are ours, so that a later run of us can remove them:
// "key:effect,…" and "name,…".
inline constexpr std::string_view kTaintsAnnotation = "kgpu.dev/taints";
inline constexpr std::string_view kResourcesAnnotation = "kgpu.dev/extended-resources";

enum class DesiredTaint : uint8_t {
  kLeave,  // unchanged
  kSet,
  kLift,
};

struct DesiredGate {
  std::optional<ConditionText> condition{};  // nothing: none of ours on the node
  DesiredTaint taint = DesiredTaint::kLeave;
  bool operator==(const DesiredGate&) const = default;
};

// The condition about the GPUs' health, without its time.
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

// The condition about the node's configuration.
struct DesiredConfig {
  std::optional<ConditionText> condition{};  // nothing: none of ours on the node
  bool operator==(const DesiredConfig&) const = default;
};

// Each part stays unchanged on the node until it is decided: an agent that has just started removes
// nothing.
struct Wanted {
  std::optional<labels::NodeClaims> claims{};
  std::optional<DesiredGate> gate{};
  std::optional<DesiredHealth> health{};
  std::optional<DesiredConfig> config{};
  bool operator==(const Wanted&) const = default;
};
// Removes everything of ours from the node.
Wanted NothingWanted();

// Claims that are not written, because they belong to somebody else.
struct Skipped {
  std::string kind{};  // label, annotation, taint, resource
  std::string key{};
  std::string wanted{};
  std::string present{};  // empty: there is none
  std::string owner{};    // "Node Feature Discovery", "kubectl-label"
  bool operator==(const Skipped&) const = default;
};

enum class WriteKind : uint8_t {
  kCondition,
  kGateTaint,
  kHealthCondition,
  kConfigCondition,
  kKeys,
  kTaints,
  kResources
};
inline constexpr size_t kWriteKinds = 7;
// "condition", "gate taint", "health condition", "config condition", "labels", "taints",
// "extended resources".
std::string_view ToString(WriteKind kind);

struct Write {
  WriteKind kind = WriteKind::kKeys;
  std::vector<std::string> changes{};  // what it does, for people: "label + a=b"
  kube::ApiRequest request{};
};

struct NodePlan {
  // At most one per kind, each possible by itself, now; none: the node is up to date. Writes that
  // depend on another come in the plan after it.
  std::vector<Write> writes{};
  std::vector<Skipped> skipped{};      // sorted by kind, key
  std::vector<std::string> changes{};  // all differences, also those that cannot be written yet
};

// `now` becomes the time of a condition whose status changes.
NodePlan PlanNode(const SeenNode& node, const Wanted& wanted, const Owners& owners, WallTime now);

}  // namespace kgpu::node
