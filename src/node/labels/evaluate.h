// Applies rules to a node's features. Pure functions; regular expressions and templates are
// compiled when they are loaded, not here.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/host/features/feature_set.h"
#include "src/node/labels/feature_view.h"
#include "src/node/labels/node_claims.h"
#include "src/node/labels/rules.h"

namespace kgpu::labels {

// The feature through which rules see the labels and vars of earlier rules.
inline constexpr const char* kMatchedFeature = "rule.matched";

// For all rules together, in comparisons of short texts: some tenths of a second. Rules past the
// limit are not run.
inline constexpr size_t kMaxRuleWork = 20'000'000;
// Per kind: labels, annotations, extended resources. More than a Node object could hold.
inline constexpr size_t kMaxClaims = 2'000;

// The result of one rule, for people.
struct RuleVerdict {
  std::string set;
  std::string rule;
  bool is_matched = false;
  std::string why;  // the first reason why it did not match, or its template failed
  NodeClaims claims;
  std::map<std::string, std::string> vars;
  bool operator==(const RuleVerdict&) const = default;
};

struct RuleResult {
  // With full keys and resolved references; filters decide later what the node may carry.
  NodeClaims claims;
  features::Attributes matched;  // rule.matched at the end
  // "gpu-rules: rule "a100": …": failed templates, references to missing values.
  std::vector<std::string> problems;
};

// Runs the sets in order. Afterwards `features` contains rule.matched. `verdicts`, if given, gets
// one entry per rule, which makes it slower.
RuleResult Evaluate(std::span<const RuleSet> sets, FeatureView& features,
                    std::vector<RuleVerdict>* verdicts = nullptr);
RuleResult Evaluate(std::span<const RuleSet> sets, const features::FeatureSet& features);

// Node Feature Discovery runs objects in the order of their names.
void SortByName(std::vector<RuleSet>& sets);

// One line per rule with what it does, or why it does not match.
std::string PrintVerdicts(std::span<const RuleVerdict> verdicts);

}  // namespace kgpu::labels
