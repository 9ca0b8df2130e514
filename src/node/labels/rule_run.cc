#include "src/node/labels/rule_run.h"

#include <algorithm>
#include <utility>

#include "src/node/labels/rule_template.h"
#include "src/node/labels/term_match.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {

using gotemplate::Template;
using gotemplate::Value;

namespace {

using Strings = std::map<std::string, std::string>;

// The cost of a template's step, in comparisons.
constexpr size_t kWorkOfStep = 8;

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

void Merge(Strings& into, const Strings& more) {
  for (const auto& [key, value] : more) {
    into.insert_or_assign(key, value);
  }
}

}  // namespace

StatusOr<bool> RuleRun::Match() {
  std::vector<Value> data;
  if (!rule_.any.empty()) {
    ASSIGN_OR_RETURN(const bool is_met, MatchAny(data));
    if (!is_met) {
      return false;
    }
  }
  if (!rule_.all.empty()) {
    ASSIGN_OR_RETURN(const bool is_met, MatchTerms(rule_.all, data));
    if (!is_met) {
      return false;
    }
  }
  for (const Value& one : data) {
    RETURN_IF_ERROR(Expand("labelsTemplate", rule_.labels_template, one, labels_));
    RETURN_IF_ERROR(Expand("varsTemplate", rule_.vars_template, one, vars_));
  }
  Merge(labels_, rule_.labels);
  Merge(vars_, rule_.vars);
  return true;
}

Status RuleRun::Spend(size_t work) {
  work_ += work;
  return work_ <= most_work_ ? OkStatus()
                             : OutOfRange("the rules take too long: use fewer or simpler rules");
}

// Templates see every alternative that matches; else one is enough.
StatusOr<bool> RuleRun::MatchAny(std::vector<Value>& data) {
  bool is_met = false;
  for (const auto& terms : rule_.any) {
    ASSIGN_OR_RETURN(const bool is_this, MatchTerms(terms, data));
    is_met = is_met || is_this;
    if (is_met && !needs_elements_) {
      break;
    }
  }
  return is_met;
}

StatusOr<bool> RuleRun::MatchTerms(const std::vector<FeatureTerm>& terms,
                                   std::vector<Value>& data) {
  TemplateData elements;
  for (const FeatureTerm& term : terms) {
    const TermAnswer answer = MatchTerm(term, features_, needs_elements_, most_work_ - work_);
    RETURN_IF_ERROR(Spend(answer.work));
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

Status RuleRun::Expand(std::string_view field, const std::optional<Template>& source,
                       const Value& data, Strings& into) {
  if (!source) {
    return OkStatus();
  }
  size_t steps = 0;
  const auto output = source->Expand(data, &steps);
  RETURN_IF_ERROR(Spend(steps * kWorkOfStep));
  const auto pairs = output.ok() ? ReadPairs(*output) : output.status();
  if (!pairs.ok()) {
    return Annotate(pairs.status(), "{}", field);
  }
  Merge(into, *pairs);
  return OkStatus();
}

std::string RuleRun::Why() const {
  std::vector<std::string> reasons;
  reasons.reserve(rule_.any.size());
  for (const auto& terms : rule_.any) {
    reasons.push_back(WhyTerms(terms));
  }
  const bool fails_any = std::ranges::none_of(reasons, &std::string::empty) && !reasons.empty();
  return fails_any ? fmt::format("matchAny: {}", Join(reasons, "; ")) : WhyTerms(rule_.all);
}

std::string RuleRun::WhyTerms(const std::vector<FeatureTerm>& terms) const {
  for (const FeatureTerm& term : terms) {
    if (!MatchTerm(term, features_, /*with_elements=*/false).is_met) {
      return WhyNot(term, features_);
    }
  }
  return "";
}

}  // namespace kgpu::labels
