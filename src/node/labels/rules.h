// Rules that make labels, annotations, taints and extended resources of a node's features: the
// format of Node Feature Discovery's NodeFeatureRule objects and of its worker's custom rules
// (docs/reference/rules.md).
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/match.h"
#include "src/node/labels/node_claims.h"
#include "src/node/labels/template.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

// Of a file or object.
inline constexpr size_t kMaxRuleBytes = size_t{1} << 20;
inline constexpr size_t kMaxRules = 1'000;
inline constexpr size_t kMaxRuleDocuments = 64;  // of a file

// An expression and the element it is held against.
struct KeyExpression {
  std::string key;
  MatchExpression match;
  bool operator==(const KeyExpression&) const = default;
};

// What is asked of one feature.
struct FeatureTerm {
  std::string feature;  // as written: "pci.device"
  std::string lookup;   // the same in lower case
  // All of them, on one instance where the feature has instances. Absent and empty differ: empty is
  // met by any element there is.
  std::optional<std::vector<KeyExpression>> expressions;
  std::optional<MatchExpression> name;  // met by one name at least
  bool operator==(const FeatureTerm&) const = default;
};

struct Rule {
  std::string name;
  std::map<std::string, std::string> labels;  // values may be "@feature.element"
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> extended_resources;
  std::map<std::string, std::string> vars;
  std::vector<Taint> taints;
  std::optional<Template> labels_template;
  std::optional<Template> vars_template;
  std::vector<FeatureTerm> all;               // matchFeatures
  std::vector<std::vector<FeatureTerm>> any;  // matchAny: one of them
  bool operator==(const Rule&) const = default;
};

// The rules of one file or object, in their order.
struct RuleSet {
  std::string name;  // the object's; of a list of rules the file's
  std::vector<Rule> rules;
  bool operator==(const RuleSet&) const = default;
};

// A NodeFeatureRule object, or a list of rules, in YAML or JSON (by the ending of `file`).
// Errors: InvalidArgument, "file:line:column: rules[0].matchFeatures[1].op: …" for everything that
// is wrong.
StatusOr<RuleSet> ParseRules(std::string_view text, std::string_view file);

// The same of a file that may hold several YAML documents between lines "---", each an object, a
// list of rules, or a List of objects as kubectl prints it. In their order; empty ones are none.
StatusOr<std::vector<RuleSet>> ParseRuleFile(std::string_view text, std::string_view file);

// Of an object of the API server. A rule that is wrong does not hide the others, as with NFD:
// `problems` names it.
struct RuleObject {
  RuleSet rules;
  std::vector<std::string> problems;
};
// Errors: InvalidArgument: no NodeFeatureRule at all.
StatusOr<RuleObject> ReadRuleObject(const boost::json::value& object);

}  // namespace kgpu::labels
