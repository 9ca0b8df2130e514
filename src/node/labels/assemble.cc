#include "src/node/labels/assemble.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/node/labels/names.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

using Strings = std::map<std::string, std::string>;

class Assembly {
 public:
  explicit Assembly(const RuleInput& input) : input_(input) {}

  Assembled Run(std::vector<RuleVerdict>* verdicts) && {
    AddOwn();
    AddFileRules(verdicts);
    AddLabels(input_.files.labels);
    Append(input_.files.problems);
    FilterOwn();
    AddForeign();
    AddObjectRules(verdicts);
    Filter();
    return std::move(result_);
  }

 private:
  void Append(const std::vector<std::string>& problems) {
    std::ranges::copy(problems, std::back_inserter(result_.problems));
  }

  void AddLabels(const Strings& labels) {
    for (const auto& [key, value] : labels) {
      claims_.labels.insert_or_assign(WholeKey(key), value);
    }
  }

  void Add(const NodeClaims& more) {
    AddLabels(more.labels);
    for (const auto& [key, value] : more.annotations) {
      claims_.annotations.insert_or_assign(key, value);
    }
    for (const auto& [name, quantity] : more.extended_resources) {
      claims_.extended_resources.insert_or_assign(name, quantity);
    }
    for (const Taint& taint : more.taints) {
      std::erase_if(claims_.taints, [&](const Taint& other) {
        return other.key == taint.key && other.effect == taint.effect;
      });
      claims_.taints.push_back(taint);
    }
  }

  void AddOwn() {
    std::ranges::for_each(input_.own, [this](const NodeClaims& own) { Add(own); });
  }

  // Their rule.matched is their own: NFD's worker runs them, its master the others.
  void AddFileRules(std::vector<RuleVerdict>* verdicts) {
    FeatureView view(input_.features);
    view.Add(input_.files.Features());
    const RuleResult rules = Evaluate(input_.file_rules, view, verdicts);
    Add(rules.claims);
    Append(rules.problems);
  }

  void FilterOwn() {
    for (const Pattern& pattern : input_.own_allow) {
      std::erase_if(claims_.labels,
                    [&](const auto& label) { return !pattern.Matches(BaseOf(label.first)); });
    }
    // A label that nobody would accept is reported once, by Filter.
    for (const auto& label : claims_.labels) {
      if (CheckKey(label.first).ok() && CheckLabelValue(label.second).ok()) {
        result_.own_labels.insert(result_.own_labels.end(), label);
      }
    }
  }

  void AddForeign() {
    for (const NodeFeature& object : input_.foreign) {
      if (input_.filters.foreign_labels) {
        Strings labels;
        for (const auto& [key, value] : object.labels) {
          // As for rules: a key with its namespace comes before the same key without.
          if (key.find('/') != std::string::npos || !object.labels.contains(WholeKey(key))) {
            labels.emplace(WholeKey(key), value);
          }
        }
        AddLabels(labels);
      }
    }
  }

  void AddObjectRules(std::vector<RuleVerdict>* verdicts) {
    if (input_.object_rules.empty()) {
      return;
    }
    FeatureView view(input_.features);
    view.Add(input_.files.Features());
    for (const NodeFeature& object : input_.foreign) {
      view.Add(object.features);
    }
    std::vector<RuleSet> sorted(input_.object_rules.begin(), input_.object_rules.end());
    SortByName(sorted);
    const RuleResult rules = Evaluate(sorted, view, verdicts);
    Add(rules.claims);
    Append(rules.problems);
  }

  void Note(std::string_view what, const Status& status) {
    const bool is_wanted = status.code() == StatusCode::kPermissionDenied;
    (is_wanted ? result_.left_out : result_.problems)
        .push_back(fmt::format("{} {}", what, Message(status)));
  }

  // Keeps what `check` takes.
  template <typename Check>
  void FilterPairs(bool is_on, std::string_view what, const Strings& asked, Strings& kept,
                   const Check& check) {
    if (!is_on && !asked.empty()) {
      result_.left_out.push_back(fmt::format("{}s are disabled: {} requested", what, asked.size()));
    }
    for (auto pair = asked.begin(); is_on && pair != asked.end(); ++pair) {
      if (const Status status = check(pair->first, pair->second); status.ok()) {
        kept.insert(kept.end(), *pair);
      } else {
        Note(what, status);
      }
    }
  }

  void FilterTaints(bool is_on) {
    if (!is_on && !claims_.taints.empty()) {
      result_.left_out.push_back(
          fmt::format("taints are disabled: {} requested", claims_.taints.size()));
    }
    for (size_t i = 0; is_on && i < claims_.taints.size(); ++i) {
      if (const Status status = CheckTaint(claims_.taints[i]); status.ok()) {
        result_.claims.taints.push_back(claims_.taints[i]);
      } else {
        Note("taint", status);
      }
    }
    std::ranges::sort(result_.claims.taints);
  }

  void Filter() {
    const Filters& filters = input_.filters;
    NodeClaims& kept = result_.claims;
    FilterPairs(filters.labels, "label", claims_.labels, kept.labels,
                [&](const std::string& key, const std::string& value) {
                  return CheckLabel(filters, key, value);
                });
    FilterPairs(filters.annotations, "annotation", claims_.annotations, kept.annotations,
                CheckAnnotation);
    FilterPairs(filters.extended_resources, "extended resource", claims_.extended_resources,
                kept.extended_resources, CheckExtendedResource);
    FilterTaints(filters.taints);
  }

  const RuleInput& input_;
  NodeClaims claims_;
  Assembled result_;
};

}  // namespace

Assembled Assemble(const RuleInput& input, std::vector<RuleVerdict>* verdicts) {
  return Assembly(input).Run(verdicts);
}

}  // namespace kgpu::labels
