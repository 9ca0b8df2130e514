// What rules make of a node's features. Pure; pays for regular expressions and templates when they
// are loaded, not here.
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

// The feature by which rules see the labels and vars of those before them.
inline constexpr const char* kMatchedFeature = "rule.matched";

// Of all rules together, in comparisons of short texts: some tenths of a second. Those behind are
// not run.
inline constexpr size_t kMaxRuleWork = 20'000'000;
// Of labels, of annotations, of extended resources: more than a Node object could hold.
inline constexpr size_t kMaxClaims = 2'000;

// What became of one rule, for people.
struct RuleVerdict {
  std::string set;
  std::string rule;
  bool is_matched = false;
  std::string why;  // of one that did not match, or whose template failed: the first reason
  NodeClaims claims;
  std::map<std::string, std::string> vars;
  bool operator==(const RuleVerdict&) const = default;
};

struct RuleResult {
  // With whole keys and references resolved; what the node may carry is the filters' matter.
  NodeClaims claims;
  features::Attributes matched;  // rule.matched in the end
  // "gpu-rules: rule "a100": …": templates that failed, references to what is not there.
  std::vector<std::string> problems;
};

// Runs the sets in their order. `features` has rule.matched afterwards. `verdicts`, when given,
// takes one for each rule; it makes the whole slower.
RuleResult Evaluate(std::span<const RuleSet> sets, FeatureView& features,
                    std::vector<RuleVerdict>* verdicts = nullptr);
RuleResult Evaluate(std::span<const RuleSet> sets, const features::FeatureSet& features);

// Node Feature Discovery runs objects in the order of their names.
void SortByName(std::vector<RuleSet>& sets);

// Each rule on a line with what it does, or why it does not match.
std::string PrintVerdicts(std::span<const RuleVerdict> verdicts);

}  // namespace kgpu::labels
