// The changes of a takeover to nodes and DaemonSets, as merge patches, and their reversal. Each
// change records in an annotation, in the same request, what was there before: a kill between two
// requests loses nothing. Pure functions.
#pragma once

#include <boost/json/value.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/cluster/adopt/plan.h"
#include "src/cluster/adopt/world.h"
#include "src/platform/base/status.h"

namespace kgpu::adopt {

inline constexpr std::string_view kDeployPrefix = "nvidia.com/gpu.deploy.";
// The label of a node that kgpu has taken over: DaemonSets that are no operands avoid it.
inline constexpr std::string_view kTakenLabel = "kgpu.dev/taken-over";
// Of a node or DaemonSet that was changed: what was there before.
inline constexpr std::string_view kRecordAnnotation = "kgpu.dev/taken-over-from";

bool IsTaken(const SeenNode& node);

// What a node was like when its takeover began.
struct NodeRecord {
  std::map<std::string, std::optional<std::string>> labels{};  // nothing: there was none
  std::map<std::string, std::optional<std::string>> annotations{};
  std::map<std::string, int64_t> gpus{};
  std::map<std::string, std::vector<std::string>> pods{};  // container ids by the UIDs of GPU pods
  bool operator==(const NodeRecord&) const = default;
};

// Errors: NotFound (the node has no record), InvalidArgument (somebody edited it).
StatusOr<NodeRecord> RecordOf(const SeenNode& node);

// Merge patches of a node, one per step; nothing if it is like that already. All are refused by the
// server if the node has changed since it was read.
using Patch = std::optional<boost::json::value>;
// Step 1: the others leave.
Patch LeavePatch(const SeenNode& node, const NodePlan& plan, const std::vector<SeenPod>& pods);
// Step 2: kgpu serves the GPUs and owns the labels.
Patch ServePatch(const SeenNode& node, const NodePlan& plan);
// Handing back, step 1: kgpu's plugin leaves.
Patch StandBackPatch(const SeenNode& node);
// Step 2: the others come back.
Patch ReturnPatch(const SeenNode& node, const NodeRecord& record);
// Step 3: kgpu leaves the labels to them.
Patch ReleasePatch(const SeenNode& node);
// Step 4: the node is as it was. With `keeps_owner`, kgpu stays the owner of the labels.
Patch ForgetPatch(const SeenNode& node, const NodeRecord& record, bool keeps_owner = false);

// Merge patch of a DaemonSet: its pods avoid nodes with kTakenLabel. Its strategy becomes OnDelete
// until it is restored, so that pods on other nodes do not restart because their template changed.
Patch ExcludePatch(const boost::json::value& daemon_set);
// The reverse. If somebody else has changed these fields meanwhile, only ours are taken out.
// Errors: InvalidArgument (somebody edited the record).
StatusOr<Patch> RestorePatch(const boost::json::value& daemon_set);
bool IsExcluded(const boost::json::value& daemon_set);

// The merge patch that turns `from` into `to`; an empty object if they are equal.
boost::json::value MergeDiff(const boost::json::object& from, const boost::json::object& to);

}  // namespace kgpu::adopt
