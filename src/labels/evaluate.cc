#include "src/labels/evaluate.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/labels/names.h"
#include "src/labels/term_match.h"

namespace kgpu::labels {
namespace {

using Strings = std::map<std::string, std::string>;

// The elements of each term that was met, as a template's data: map of domains, of features, of
// lists of elements. Names as the rule writes them and in lower case, so that both find them.
class TemplateData {
 public:
  void Add(const FeatureTerm& term, const Value::List& elements) {
    AddAs(term.feature, elements);
    if (term.lookup != term.feature) {
      AddAs(term.lookup, elements);
    }
  }

  Value Take() && {
    Value::Dict root;
    for (auto& [domain, features] : domains_) {
      Value::Dict dict;
      for (auto& [name, elements] : features) {
        dict.emplace(name, Value(std::move(elements)));
      }
      root.emplace(domain, Value(std::move(dict)));
    }
    return Value(std::move(root));
  }

 private:
  void AddAs(const std::string& feature, const Value::List& elements) {
    const size_t dot = feature.find('.');
    Value::List& list = domains_[feature.substr(0, dot)][feature.substr(dot + 1)];
    list.insert(list.end(), elements.begin(), elements.end());
  }

  std::map<std::string, std::map<std::string, Value::List>> domains_;
};

// Of a map of one rule: keys with their namespace stand before those without.
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

void Merge(Strings& into, const Strings& more) {
  for (const auto& [key, value] : more) {
    into.insert_or_assign(key, value);
  }
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
    return InvalidArgument("\"{}\": a reference is @domain.feature.element", Printable(value, 80));
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

// One rule against the features.
class RuleRun {
 public:
  RuleRun(const Rule& rule, const FeatureView& features)
      : rule_(rule),
        features_(features),
        needs_elements_(rule.labels_template || rule.vars_template) {}

  // Whether it matches; labels() and vars() are made then. Errors: of its templates.
  StatusOr<bool> Match() {
    std::vector<Value> data;
    if (!rule_.any.empty() && !MatchAny(data)) {
      return false;
    }
    if (!rule_.all.empty() && !MatchTerms(rule_.all, data)) {
      return false;
    }
    for (const Value& one : data) {
      RETURN_IF_ERROR(Expand("labelsTemplate", rule_.labels_template, one, labels_));
      RETURN_IF_ERROR(Expand("varsTemplate", rule_.vars_template, one, vars_));
    }
    Merge(labels_, rule_.labels);
    Merge(vars_, rule_.vars);
    return true;
  }

  const Strings& labels() const { return labels_; }
  const Strings& vars() const { return vars_; }

  std::string Why() const {
    std::vector<std::string> reasons;
    for (const auto& terms : rule_.any) {
      reasons.push_back(WhyTerms(terms));
    }
    const bool fails_any = std::ranges::none_of(reasons, &std::string::empty) && !reasons.empty();
    return fails_any ? fmt::format("matchAny: {}", Join(reasons, "; ")) : WhyTerms(rule_.all);
  }

 private:
  bool MatchAny(std::vector<Value>& data) const {
    bool is_met = false;
    for (const auto& terms : rule_.any) {
      is_met = MatchTerms(terms, data) || is_met;
      if (is_met && !needs_elements_) {
        break;
      }
    }
    return is_met;
  }

  bool MatchTerms(const std::vector<FeatureTerm>& terms, std::vector<Value>& data) const {
    TemplateData elements;
    for (const FeatureTerm& term : terms) {
      const TermAnswer answer = MatchTerm(term, features_, needs_elements_);
      if (!answer.is_met) {
        return false;
      }
      if (needs_elements_) {
        elements.Add(term, answer.elements);
      }
    }
    if (needs_elements_) {
      data.push_back(std::move(elements).Take());
    }
    return true;
  }

  std::string WhyTerms(const std::vector<FeatureTerm>& terms) const {
    for (const FeatureTerm& term : terms) {
      if (!MatchTerm(term, features_, /*with_elements=*/false).is_met) {
        return WhyNot(term, features_);
      }
    }
    return "";
  }

  static Status Expand(std::string_view field, const std::optional<Template>& source,
                       const Value& data, Strings& into) {
    if (!source) {
      return OkStatus();
    }
    const auto pairs = source->ExpandPairs(data);
    if (!pairs.ok()) {
      return Annotate(pairs.status(), "{}", field);
    }
    Merge(into, *pairs);
    return OkStatus();
  }

  const Rule& rule_;
  const FeatureView& features_;
  bool needs_elements_;
  Strings labels_;
  Strings vars_;
};

class Evaluation {
 public:
  Evaluation(FeatureView& features, std::vector<RuleVerdict>* verdicts)
      : features_(features), verdicts_(verdicts) {}

  void Run(const RuleSet& set, const Rule& rule) {
    RuleRun run(rule, features_);
    const auto is_matched = run.Match();
    if (!is_matched.ok()) {
      result_.problems.push_back(fmt::format(
          "{}: rule \"{}\": {}", set.name, Printable(rule.name, 60), Message(is_matched.status())));
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
    // Also after a rule that did not match: those behind it can ask what did not.
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

  static void Put(Claims& claims, const Strings& values, const RuleSet& set, const Rule& rule) {
    for (const auto& [key, value] : WithNamespaces(values)) {
      claims.insert_or_assign(key, Claim{.value = value, .set = &set, .rule = &rule});
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
