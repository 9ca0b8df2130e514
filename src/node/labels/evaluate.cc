#include "src/node/labels/evaluate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "src/node/labels/names.h"
#include "src/node/labels/rule_run.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

using Strings = std::map<std::string, std::string>;

// For a map of one rule: keys with their namespace come before those without.
Strings WithNamespaces(const Strings& values) {
  Strings whole;
  for (const auto& [key, value] : values) {
    if (key.find('/') != std::string::npos) {
      whole.insert_or_assign(key, value);
    } else {
      whole.emplace(WholeKey(key), value);
    }
  }
  return whole;
}

void MergeTaints(std::vector<Taint>& into, const std::vector<Taint>& more) {
  for (const Taint& taint : more) {
    const auto same = std::ranges::find_if(into, [&](const Taint& other) {
      return other.key == taint.key && other.effect == taint.effect;
    });
    if (same != into.end()) {
      *same = taint;
    } else {
      into.push_back(taint);
    }
  }
}

// "@domain.feature.element" of the features, other values as they are. Errors: NotFound.
StatusOr<std::string> Resolve(const std::string& value, const FeatureView& features) {
  if (!value.starts_with('@')) {
    return value;
  }
  const size_t first = value.find('.');
  const size_t second = first == std::string::npos ? first : value.find('.', first + 1);
  if (second == std::string::npos) {
    return InvalidArgument("\"{}\": a reference must be @domain.feature.element",
                           Printable(value, 80));
  }
  const std::string feature = value.substr(1, second - 1);
  const features::Attributes* attributes = features.FindAttributes(ToLower(feature));
  if (attributes == nullptr) {
    return NotFound("\"{}\": this node has no attributes {}", Printable(value, 80),
                    Printable(feature, 60));
  }
  const auto found = attributes->find(value.substr(second + 1));
  if (found == attributes->end()) {
    return NotFound("\"{}\": {} has no such element", Printable(value, 80), Printable(feature, 60));
  }
  return found->second;
}

class Evaluation {
 public:
  Evaluation(FeatureView& features, std::vector<RuleVerdict>* verdicts)
      : features_(features), verdicts_(verdicts) {}

  void Run(const RuleSet& set, const Rule& rule) {
    RuleRun run(rule, features_, kMaxRuleWork - work_);
    const auto is_matched = work_ < kMaxRuleWork ? run.Match() : NotRun();
    work_ = std::min(kMaxRuleWork, work_ + run.work());
    if (!is_matched.ok() && !is_over_) {
      is_over_ = work_ == kMaxRuleWork;
      result_.problems.push_back(fmt::format("{}: rule \"{}\": {}{}", set.name,
                                             Printable(rule.name, 60), Message(is_matched.status()),
                                             is_over_ ? "; later rules are not run" : ""));
    }
    if (verdicts_ != nullptr) {
      verdicts_->push_back(Verdict(set, rule, run, is_matched));
    }
    if (!is_matched.ok()) {
      return;
    }
    if (*is_matched) {
      Take(set, rule, run);
    }
    // Also after a rule that did not match: later rules can check that.
    features_.AddAttributes(kMatchedFeature, run.labels());
    features_.AddAttributes(kMatchedFeature, run.vars());
  }

  RuleResult Finish() && {
    // References see what all rules left behind.
    ResolveAll(labels_, result_.claims.labels);
    ResolveAll(annotations_, result_.claims.annotations);
    ResolveAll(resources_, result_.claims.extended_resources);
    std::ranges::sort(result_.claims.taints, {},
                      [](const Taint& taint) { return std::tie(taint.key, taint.effect); });
    if (const auto* matched = features_.FindAttributes(kMatchedFeature)) {
      result_.matched = *matched;
    }
    return std::move(result_);
  }

 private:
  // A value and who asks for it.
  struct Claim {
    std::string value;
    const RuleSet* set = nullptr;
    const Rule* rule = nullptr;
  };
  using Claims = std::map<std::string, Claim>;

  static StatusOr<bool> NotRun() { return OutOfRange("not run: earlier rules took too long"); }

  void Put(Claims& claims, const Strings& values, const RuleSet& set, const Rule& rule) {
    for (const auto& [key, value] : WithNamespaces(values)) {
      if (claims.size() < kMaxClaims || claims.contains(key)) {
        claims.insert_or_assign(key, Claim{.value = value, .set = &set, .rule = &rule});
      } else if (!has_too_many_) {
        has_too_many_ = true;
        result_.problems.push_back(fmt::format(
            "{}: rule \"{}\": more than {} labels, annotations or resources: the rest is dropped",
            set.name, Printable(rule.name, 60), kMaxClaims));
      }
    }
  }

  void Take(const RuleSet& set, const Rule& rule, const RuleRun& run) {
    Put(labels_, run.labels(), set, rule);
    Put(annotations_, rule.annotations, set, rule);
    Put(resources_, rule.extended_resources, set, rule);
    MergeTaints(result_.claims.taints, rule.taints);
  }

  void ResolveAll(const Claims& claims, Strings& values) {
    for (const auto& [key, claim] : claims) {
      auto value = Resolve(claim.value, features_);
      if (value.ok()) {
        values.emplace_hint(values.end(), key, *std::move(value));
      } else {
        result_.problems.push_back(fmt::format("{}: rule \"{}\": {}: {}", claim.set->name,
                                               Printable(claim.rule->name, 60), Printable(key, 80),
                                               Message(value.status())));
      }
    }
  }

  static RuleVerdict Verdict(const RuleSet& set, const Rule& rule, const RuleRun& run,
                             const StatusOr<bool>& is_matched) {
    RuleVerdict verdict{.set = set.name,
                        .rule = rule.name,
                        .is_matched = is_matched.ok() && *is_matched,
                        .why = {},
                        .claims = {},
                        .vars = {}};
    if (!is_matched.ok()) {
      verdict.why = Message(is_matched.status());
    } else if (!*is_matched) {
      verdict.why = run.Why();
    } else {
      verdict.claims = {.labels = WithNamespaces(run.labels()),
                        .annotations = WithNamespaces(rule.annotations),
                        .extended_resources = WithNamespaces(rule.extended_resources),
                        .taints = rule.taints};
      verdict.vars = run.vars();
    }
    return verdict;
  }

  FeatureView& features_;
  std::vector<RuleVerdict>* verdicts_;
  Claims labels_;
  Claims annotations_;
  Claims resources_;
  size_t work_ = 0;
  bool is_over_ = false;
  bool has_too_many_ = false;
  RuleResult result_;
};

}  // namespace

RuleResult Evaluate(std::span<const RuleSet> sets, FeatureView& features,
                    std::vector<RuleVerdict>* verdicts) {
  Evaluation evaluation(features, verdicts);
  for (const RuleSet& set : sets) {
    for (const Rule& rule : set.rules) {
      evaluation.Run(set, rule);
    }
  }
  return std::move(evaluation).Finish();
}

RuleResult Evaluate(std::span<const RuleSet> sets, const features::FeatureSet& features) {
  FeatureView view(features);
  return Evaluate(sets, view);
}

void SortByName(std::vector<RuleSet>& sets) {
  std::ranges::stable_sort(sets, {}, &RuleSet::name);
}

}  // namespace kgpu::labels
