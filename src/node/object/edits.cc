#include "src/node/object/edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/node/labels/names.h"
#include "src/node/object/node_plan.h"
#include "src/node/object/node_requests.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::node {
namespace {

bool DropSuffix(std::string_view& text, char suffix) {
  if (!text.ends_with(suffix)) {
    return false;
  }
  text.remove_suffix(1);
  return true;
}

Status CheckTaintParts(std::string_view text, const TaintEdit& edit) {
  for (const Status& status :
       {labels::CheckKey(edit.key), labels::CheckLabelValue(edit.value),
        edit.effect.empty() && edit.is_removal ? OkStatus()
                                               : labels::CheckTaintEffect(edit.effect)}) {
    if (!status.ok()) {
      return Annotate(status, "taint {}", Printable(text, 80));
    }
  }
  return OkStatus();
}

// Whether `edit` refers to `taint`, whatever its value.
bool Means(const TaintEdit& edit, const labels::Taint& taint) {
  return edit.key == taint.key && (edit.effect == taint.effect || edit.effect.empty());
}

Status CheckAgainst(const SeenNode& node, const TaintEdit& edit, bool overwrite) {
  const auto found = std::ranges::find_if(
      node.taints, [&edit](const SeenTaint& seen) { return Means(edit, seen.taint); });
  const bool is_there = found != node.taints.end();
  if (edit.is_removal) {
    return is_there ? OkStatus()
                    : NotFound("node {} has no taint {}{}{}", node.name, edit.key,
                               edit.effect.empty() ? "" : ":", edit.effect);
  }
  if (is_there && found->taint.value != edit.value && !overwrite) {
    return AlreadyExists("node {} already has the taint {}: replace it with --overwrite", node.name,
                         labels::ToString(found->taint));
  }
  return OkStatus();
}

template <typename Edit>
Status CheckOnce(const std::vector<Edit>& edits) {
  for (size_t i = 0; i < edits.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (edits[i].key == edits[j].key) {
        return InvalidArgument("{} is given twice: give each key once", edits[i].key);
      }
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<LabelEdit> ParseLabelEdit(std::string_view text) {
  const size_t equals = text.find('=');
  LabelEdit edit;
  if (equals != std::string_view::npos) {
    edit.key = std::string(text.substr(0, equals));
    edit.value = std::string(text.substr(equals + 1));
  } else {
    std::string_view key = text;
    if (!DropSuffix(key, '-')) {
      return InvalidArgument("label \"{}\": must be KEY=VALUE to set it, or KEY- to remove it",
                             Printable(text, 80));
    }
    edit.key = std::string(key);
  }
  for (const Status& status :
       {labels::CheckKey(edit.key), labels::CheckLabelValue(edit.value.value_or(""))}) {
    if (!status.ok()) {
      return Annotate(status, "label {}", Printable(text, 80));
    }
  }
  return edit;
}

StatusOr<TaintEdit> ParseTaintEdit(std::string_view text) {
  TaintEdit edit;
  std::string_view rest = text;
  edit.is_removal = DropSuffix(rest, '-');
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    edit.effect = std::string(rest.substr(colon + 1));
    rest = rest.substr(0, colon);
  } else if (!edit.is_removal) {
    return InvalidArgument(
        "taint \"{}\": must be KEY[=VALUE]:EFFECT with EFFECT NoSchedule, PreferNoSchedule or "
        "NoExecute, or KEY- to remove it",
        Printable(text, 80));
  }
  const size_t equals = rest.find('=');
  edit.key = std::string(rest.substr(0, equals));
  if (equals != std::string_view::npos) {
    edit.value = std::string(rest.substr(equals + 1));
  }
  RETURN_IF_ERROR(CheckTaintParts(text, edit));
  return edit;
}

StatusOr<TaintEdit> ParseUntaint(std::string_view text) {
  return text.ends_with('-') ? ParseTaintEdit(text) : ParseTaintEdit(fmt::format("{}-", text));
}

StatusOr<EditPlan> PlanLabels(const SeenNode& node, const std::vector<LabelEdit>& edits,
                              bool overwrite) {
  RETURN_IF_ERROR(CheckOnce(edits));
  EditPlan plan;
  KeyEdits changed;
  for (const LabelEdit& edit : edits) {
    const auto there = node.labels.values.find(edit.key);
    const bool is_there = there != node.labels.values.end();
    if (!edit.value ? !is_there : is_there && there->second == *edit.value) {
      plan.notes.push_back(edit.value ? fmt::format("{}={} is already set", edit.key, *edit.value)
                                      : fmt::format("{} is not set", edit.key));
      continue;
    }
    if (edit.value && is_there && !overwrite) {
      return AlreadyExists("node {} already has {}={}: replace it with --overwrite", node.name,
                           edit.key, there->second);
    }
    if (node.labels.ours.contains(edit.key)) {
      plan.notes.push_back(
          edit.value ? fmt::format("{} was set by kgpu, which now leaves the key to you", edit.key)
                     : fmt::format("{} is set by kgpu: the agent will set it again", edit.key));
    }
    changed[edit.key] = edit.value;
    plan.changes.push_back(edit.value ? fmt::format("label + {}={}", edit.key, *edit.value)
                                      : fmt::format("label - {}", edit.key));
  }
  if (!changed.empty()) {
    plan.request = PatchKeys(node, changed, {});
  }
  return plan;
}

StatusOr<EditPlan> PlanTaints(const SeenNode& node, const std::vector<TaintEdit>& edits,
                              bool overwrite) {
  for (const TaintEdit& edit : edits) {
    RETURN_IF_ERROR(CheckAgainst(node, edit, overwrite));
  }
  EditPlan plan;
  std::vector<std::string> list;
  for (const SeenTaint& seen : node.taints) {
    const auto meant = std::ranges::find_if(
        edits, [&seen](const TaintEdit& edit) { return Means(edit, seen.taint); });
    const bool stays =
        meant == edits.end() || (!meant->is_removal && meant->value == seen.taint.value);
    if (stays) {
      list.push_back(seen.json);
      continue;
    }
    plan.changes.push_back(fmt::format("taint - {}", labels::ToString(seen.taint)));
    if (meant->is_removal && seen.taint.key == kGateTaintKey) {
      plan.notes.emplace_back(
          "the agent sets it again while the node is not ready and gate.taint is enabled");
    }
  }
  for (const TaintEdit& edit : edits) {
    const labels::Taint taint{edit.key, edit.value, edit.effect};
    const bool is_there = std::ranges::any_of(
        node.taints, [&taint](const SeenTaint& seen) { return seen.taint == taint; });
    if (edit.is_removal || is_there) {
      continue;
    }
    list.push_back(TaintJson(taint));
    plan.changes.push_back(fmt::format("taint + {}", labels::ToString(taint)));
  }
  if (!plan.changes.empty()) {
    plan.request = PatchTaints(node, list, kVerbManager);
  } else {
    plan.notes.emplace_back("the taints are already set");
  }
  return plan;
}

EditPlan PlanDecision(const SeenNode& node, Decision decision, const std::set<Owner>& subjects) {
  EditPlan plan;
  KeyEdits edits;
  const auto edit = [&](std::string_view annotation, bool adds) {
    const std::set<Owner> before = OwnersIn(node, annotation);
    std::set<Owner> after = before;
    for (const Owner owner : subjects) {
      if (adds) {
        after.insert(owner);
      } else {
        after.erase(owner);
      }
    }
    if (after == before) {
      return;
    }
    const std::string text = OwnersText(after);
    edits[std::string(annotation)] = after.empty() ? std::nullopt : std::optional(text);
    plan.changes.push_back(after.empty() ? fmt::format("annotation - {}", annotation)
                                         : fmt::format("annotation + {}={}", annotation, text));
  };
  edit(kAdoptedAnnotation, decision == Decision::kAdopt);
  edit(kReleasedAnnotation, decision == Decision::kRelease);
  if (!edits.empty()) {
    plan.request = PatchKeys(node, {}, edits);
  }
  return plan;
}

EditPlan PlanClear(const SeenNode& node) {
  NodePlan ours = PlanNode(node, NothingWanted(), Owners{}, WallTime{});
  EditPlan plan;
  KeyEdits decisions;
  for (const std::string_view annotation : {kAdoptedAnnotation, kReleasedAnnotation}) {
    if (node.annotations.values.contains(std::string(annotation))) {
      decisions[std::string(annotation)] = std::nullopt;
      ours.changes.push_back(fmt::format("annotation - {}", annotation));
    }
  }
  plan.changes = std::move(ours.changes);
  if (!ours.writes.empty()) {
    plan.request = std::move(ours.writes.front().request);
  } else if (!decisions.empty()) {
    plan.request = PatchKeys(node, {}, decisions);
  }
  return plan;
}

}  // namespace kgpu::node
