// Manual changes to a Node object: `kgpu node label|taint|untaint|adopt|release`. Parsed, checked
// against the node, and planned as values. Pure functions.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/object/owners.h"
#include "src/node/object/seen_node.h"
#include "src/platform/base/status.h"

namespace kgpu::node {

struct LabelEdit {
  std::string key;
  std::optional<std::string> value;  // nothing: remove the label
  bool operator==(const LabelEdit&) const = default;
};

// "KEY=VALUE", "KEY=" or "KEY-". Errors: InvalidArgument with the fix.
StatusOr<LabelEdit> ParseLabelEdit(std::string_view text);

struct TaintEdit {
  std::string key;
  std::string value;
  std::string effect;  // empty in a removal: every effect
  bool is_removal = false;
  bool operator==(const TaintEdit&) const = default;
};

// "KEY=VALUE:EFFECT", "KEY:EFFECT", "KEY-" or "KEY:EFFECT-". Errors: InvalidArgument with the fix.
StatusOr<TaintEdit> ParseTaintEdit(std::string_view text);
// "KEY" or "KEY:EFFECT", with or without a trailing "-".
StatusOr<TaintEdit> ParseUntaint(std::string_view text);

struct EditPlan {
  std::optional<kube::ApiRequest> request{};  // nothing: no change is needed
  std::vector<std::string> changes{};         // "label + a=b", "taint - k:NoSchedule"
  std::vector<std::string> notes{};           // for people
};

// Errors: InvalidArgument (a duplicate key), AlreadyExists (a label has another value, and
// `overwrite` is false).
StatusOr<EditPlan> PlanLabels(const SeenNode& node, const std::vector<LabelEdit>& edits,
                              bool overwrite);
// Errors: as PlanLabels; NotFound (a taint to remove does not exist).
StatusOr<EditPlan> PlanTaints(const SeenNode& node, const std::vector<TaintEdit>& edits,
                              bool overwrite);

enum class Decision : uint8_t {
  kAdopt,    // kgpu owns it
  kRelease,  // kgpu leaves it alone
  kForget,   // whoever came first owns it
};

// Records the decision about `subjects` on the node.
EditPlan PlanDecision(const SeenNode& node, Decision decision, const std::set<Owner>& subjects);

// The next step of removing everything of ours from the node; its changes are all that remain.
EditPlan PlanClear(const SeenNode& node);

}  // namespace kgpu::node
