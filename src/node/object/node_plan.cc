#include "src/node/object/node_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "src/node/labels/names.h"
#include "src/node/object/node_requests.h"
#include "src/platform/base/strings.h"

namespace kgpu::node {
namespace {

using TextMap = std::map<std::string, std::string>;

// Keys that nobody else may use.
bool IsOwnKey(std::string_view key) {
  return key.starts_with("kgpu.dev/");
}

std::string PresentIn(const TextMap& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? std::string() : found->second;
}

// Identity of a taint: nodes can have two of a key with different effects.
std::string TaintId(const labels::Taint& taint) {
  return fmt::format("{}:{}", taint.key, taint.effect);
}

std::set<std::string> WordsIn(const SeenNode& node, std::string_view annotation) {
  std::set<std::string> words;
  const std::string text = PresentIn(node.annotations.values, std::string(annotation));
  for (const std::string_view word : Split(text, ',')) {
    if (!word.empty()) {
      words.emplace(word);
    }
  }
  return words;
}

std::string TextOf(const std::set<std::string>& words) {
  return Join({words.begin(), words.end()}, ",");
}

// An annotation may hold kilobytes: people and logs get its beginning.
std::string Shortened(const std::string& value) {
  constexpr size_t kShown = 100;
  return value.size() <= kShown
             ? value
             : fmt::format("{} ({} bytes)", Printable(value, kShown), value.size());
}

class Planner {
 public:
  Planner(const SeenNode& node, const Wanted& wanted, const Owners& owners, WallTime now)
      : node_(node), wanted_(wanted), owners_(owners), now_(now) {}

  // The order: people and schedulers see the condition and the gate's taint first; our keys are
  // recorded before they are written, so that they can always be removed.
  NodePlan Make() {
    Do(&Planner::ReadyCondition);
    Do(&Planner::GateTaint);
    Do(&Planner::HealthCondition);
    Do(&Planner::ConfigCondition);
    if (wanted_.claims) {
      claims_ = &*wanted_.claims;
      Do(&Planner::ChooseTaints);
      Do(&Planner::ChooseResources);
      Do(&Planner::Keys);
      Do(&Planner::Taints);
      Do(&Planner::Resources);
    }
    std::ranges::sort(plan_.skipped, {}, [](const Skipped& s) { return std::tie(s.kind, s.key); });
    return std::move(plan_);
  }

 private:
  void Do(void (Planner::*part)()) {
    reported_ = static_cast<std::ptrdiff_t>(plan_.changes.size());
    (this->*part)();
  }

  void Next(WriteKind kind, kube::ApiRequest request) {
    plan_.writes.push_back(
        {kind, {plan_.changes.begin() + reported_, plan_.changes.end()}, std::move(request)});
  }

  template <typename... Args>
  void Change(fmt::format_string<Args...> format, Args&&... args) {
    plan_.changes.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void ReadyCondition() {
    if (!wanted_.gate) {
      return;
    }
    Condition(WriteKind::kCondition, kReadyCondition, node_.gpu_ready,
              Desired(wanted_.gate->condition));
  }

  void ConfigCondition() {
    if (wanted_.config) {
      Condition(WriteKind::kConfigCondition, kConfigCondition, node_.gpu_configured,
                Desired(wanted_.config->condition));
    }
  }

  static std::optional<SeenCondition> Desired(const std::optional<ConditionText>& text) {
    return text ? std::optional(
                      SeenCondition{text->is_true ? "True" : "False", text->reason, text->message})
                : std::nullopt;
  }

  void HealthCondition() {
    if (!wanted_.health) {
      return;
    }
    std::optional<SeenCondition> desired;
    if (const std::optional<HealthText>& text = wanted_.health->condition) {
      desired = SeenCondition{text->status, text->reason, text->message};
    }
    Condition(WriteKind::kHealthCondition, kHealthCondition, node_.gpu_healthy, std::move(desired));
  }

  // The time of a request is set here.
  void Condition(WriteKind kind, const ConditionKind& condition,
                 const std::optional<SeenCondition>& seen, std::optional<SeenCondition> desired) {
    if (!desired) {
      if (seen) {
        Change("condition - {}={} ({})", condition.type, seen->status, seen->reason);
        Next(kind, ApplyCondition(node_, condition, std::nullopt));
      }
      return;
    }
    desired->since = now_;
    if (seen && seen->status == desired->status) {
      desired->since = seen->since;
      if (*seen == *desired) {
        return;
      }
    }
    Change("condition + {}={} ({}: {})", condition.type, desired->status, desired->reason,
           desired->message);
    Next(kind, ApplyCondition(node_, condition, desired));
  }

  bool IsGateTaint(const labels::Taint& taint) const { return taint.key == kGateTaintKey; }

  void GateTaint() {
    const bool is_there = std::ranges::any_of(
        node_.taints, [this](const SeenTaint& seen) { return IsGateTaint(seen.taint); });
    const DesiredTaint desired = wanted_.gate ? wanted_.gate->taint : DesiredTaint::kLeave;
    const bool is_wanted = desired == DesiredTaint::kSet;
    if (desired == DesiredTaint::kLeave || is_there == is_wanted) {
      return;
    }
    std::vector<std::string> taints;
    for (const SeenTaint& seen : node_.taints) {
      if (!IsGateTaint(seen.taint)) {
        taints.push_back(seen.json);
      } else {
        Change("taint - {}", labels::ToString(seen.taint));
      }
    }
    if (is_wanted) {
      const labels::Taint taint{std::string(kGateTaintKey), "", "NoSchedule"};
      taints.push_back(TaintJson(taint));
      Change("taint + {}", labels::ToString(taint));
    }
    Next(WriteKind::kGateTaint, PatchTaints(node_, taints, kGateManager));
  }

  // Whether the record on the node is what it is to be, or more.
  bool IsRecorded(std::string_view annotation) const {
    const std::set<std::string> recorded = WordsIn(node_, annotation);
    const auto record = annotations_.find(std::string(annotation));
    return record == annotations_.end() ||
           std::ranges::all_of(Split(record->second, ','), [&](std::string_view word) {
             return recorded.contains(std::string(word));
           });
  }

  const SeenTaint* SeenTaintOf(const std::string& id) const {
    const auto found = std::ranges::find_if(
        node_.taints, [&id](const SeenTaint& seen) { return TaintId(seen.taint) == id; });
    return found == node_.taints.end() ? nullptr : &*found;
  }

  // Which of the claimed taints may be ours, and which that are there have to go.
  void ChooseTaints() {
    const std::set<std::string> recorded = WordsIn(node_, kTaintsAnnotation);
    std::set<std::string> record;
    for (const labels::Taint& taint : claims_->taints) {
      const std::string id = TaintId(taint);
      const SeenTaint* seen = SeenTaintOf(id);
      if (IsGateTaint(taint) || (seen != nullptr && !recorded.contains(id))) {
        plan_.skipped.push_back({"taint", id, labels::ToString(taint),
                                 seen == nullptr ? "" : labels::ToString(seen->taint),
                                 IsGateTaint(taint) ? "the gate" : "another client"});
        continue;
      }
      taints_.push_back(taint);
      record.insert(id);
    }
    for (const std::string& id : recorded) {
      if (!record.contains(id) && SeenTaintOf(id) != nullptr) {
        taints_to_remove_.insert(id);
        record.insert(id);
      }
    }
    if (!record.empty()) {
      annotations_[std::string(kTaintsAnnotation)] = TextOf(record);
    }
  }

  void ChooseResources() {
    const std::set<std::string> recorded = WordsIn(node_, kResourcesAnnotation);
    std::set<std::string> record;
    for (const auto& [name, quantity] : claims_->extended_resources) {
      if (node_.capacity.contains(name) && !recorded.contains(name)) {
        plan_.skipped.push_back({"resource", name, quantity, PresentIn(node_.capacity, name),
                                 "the kubelet, or another client"});
        continue;
      }
      record.insert(name);
      if (!labels::IsSameQuantity(PresentIn(node_.capacity, name), quantity)) {
        resources_to_set_[name] = quantity;
      }
    }
    for (const std::string& name : recorded) {
      if (!record.contains(name) &&
          (node_.capacity.contains(name) || node_.allocatable.contains(name))) {
        resources_to_remove_.push_back(name);
        record.insert(name);
      }
    }
    if (!record.empty()) {
      annotations_[std::string(kResourcesAnnotation)] = TextOf(record);
    }
  }

  // Which of `claimed` may be ours; sets needs_force if a key of others is taken.
  void Choose(const std::string& kind, const TextMap& claimed, const SeenKeys& seen,
              TextMap& chosen) {
    for (const auto& [key, value] : claimed) {
      const std::optional<Owner> domain = DomainOf(key);
      const bool is_ours = seen.ours.contains(key);
      const std::string present = PresentIn(seen.values, key);
      if (domain && owners_.StandsBackFor(*domain)) {
        plan_.skipped.push_back({kind, key, value, present, std::string(TitleOf(*domain))});
        continue;
      }
      const bool differs = seen.values.contains(key) && present != value;
      const auto others = seen.others.find(key);
      const bool is_others = others != seen.others.end() || !is_ours;
      const bool may_take = IsOwnKey(key) || (domain && owners_.adopted.contains(*domain));
      if (differs && is_others && !may_take) {
        plan_.skipped.push_back(
            {kind, key, value, present,
             others == seen.others.end() ? "another client" : *others->second.begin()});
        continue;
      }
      needs_force_ = needs_force_ || (differs && is_others);
      chosen[key] = value;
    }
  }

  void KeyChanges(std::string_view kind, const SeenKeys& seen, const TextMap& chosen) {
    for (const auto& [key, value] : chosen) {
      const auto present = seen.values.find(key);
      if (present == seen.values.end() || present->second != value) {
        Change("{} + {}={}", kind, key, Shortened(value));
        has_key_changes_ = true;
      } else if (!seen.ours.contains(key)) {
        has_key_changes_ = true;  // the same value, which becomes ours too
      }
    }
    for (const std::string& key : seen.ours) {
      if (!chosen.contains(key)) {
        has_key_changes_ = true;
        if (!seen.others.contains(key)) {
          Change("{} - {}", kind, key);
        }
      }
    }
  }

  void Keys() {
    TextMap labels;
    Choose("label", claims_->labels, node_.labels, labels);
    TextMap annotations;
    Choose("annotation", claims_->annotations, node_.annotations, annotations);
    annotations.merge(TextMap(annotations_));
    for (const auto& [key, value] : annotations_) {
      needs_force_ = needs_force_ || (node_.annotations.others.contains(key) &&
                                      PresentIn(node_.annotations.values, key) != value);
    }
    KeyChanges("label", node_.labels, labels);
    KeyChanges("annotation", node_.annotations, annotations);
    if (has_key_changes_) {
      Next(WriteKind::kKeys, ApplyKeys(node_, labels, annotations, needs_force_));
    }
  }

  void Taints() {
    std::vector<std::string> list;
    bool differs = false;
    for (const SeenTaint& seen : node_.taints) {
      const std::string id = TaintId(seen.taint);
      const auto wanted = std::ranges::find(taints_, id, TaintId);
      const bool is_other_value = wanted != taints_.end() && *wanted != seen.taint;
      if (!taints_to_remove_.contains(id) && !is_other_value) {
        list.push_back(seen.json);
        continue;
      }
      differs = true;
      Change("taint - {}", labels::ToString(seen.taint));
    }
    for (const labels::Taint& taint : taints_) {
      const SeenTaint* seen = SeenTaintOf(TaintId(taint));
      if (seen == nullptr || seen->taint != taint) {
        differs = true;
        list.push_back(TaintJson(taint));
        Change("taint + {}", labels::ToString(taint));
      }
    }
    // The other write of the list comes first, and this one after it.
    const bool is_list_written =
        std::ranges::find(plan_.writes, WriteKind::kGateTaint, &Write::kind) != plan_.writes.end();
    if (differs && !is_list_written && IsRecorded(kTaintsAnnotation)) {
      Next(WriteKind::kTaints, PatchTaints(node_, list, kManager));
    }
  }

  void Resources() {
    for (const auto& [name, quantity] : resources_to_set_) {
      Change("resource + {}={}", name, quantity);
    }
    for (const std::string& name : resources_to_remove_) {
      Change("resource - {}", name);
    }
    if ((!resources_to_set_.empty() || !resources_to_remove_.empty()) &&
        IsRecorded(kResourcesAnnotation)) {
      Next(WriteKind::kResources, PatchResources(node_, resources_to_set_, resources_to_remove_));
    }
  }

  const SeenNode& node_;
  const Wanted& wanted_;
  const Owners& owners_;
  WallTime now_;
  const labels::NodeClaims* claims_ = nullptr;  // while they are decided
  NodePlan plan_;
  std::ptrdiff_t reported_ = 0;  // changes of the parts before
  TextMap annotations_;          // the records
  std::vector<labels::Taint> taints_;
  std::set<std::string> taints_to_remove_;
  Quantities resources_to_set_;
  std::vector<std::string> resources_to_remove_;
  bool needs_force_ = false;
  bool has_key_changes_ = false;
};

}  // namespace

std::string_view ToString(WriteKind kind) {
  static constexpr std::array<std::string_view, kWriteKinds> kNames = {
      "condition", "gate taint", "health condition",  "config condition",
      "labels",    "taints",     "extended resources"};
  return kNames.at(static_cast<size_t>(kind));
}

Wanted NothingWanted() {
  return {.claims = labels::NodeClaims{},
          .gate = DesiredGate{{}, DesiredTaint::kLift},
          .health = DesiredHealth{},
          .config = DesiredConfig{}};
}

NodePlan PlanNode(const SeenNode& node, const Wanted& wanted, const Owners& owners, WallTime now) {
  return Planner(node, wanted, owners, now).Make();
}

}  // namespace kgpu::node
