// Rules that derive labels, annotations, taints and extended resources from a node's features: the
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
#include "src/platform/base/status.h"
#include "src/platform/gotemplate/template.h"

namespace kgpu::labels {

// Size limit of a file or object.
inline constexpr size_t kMaxRuleBytes = size_t{1} << 20;
inline constexpr size_t kMaxRules = 1'000;
inline constexpr size_t kMaxRuleDocuments = 64;  // per file

// An expression and the element that it is compared with.
struct KeyExpression {
  std::string key;
  MatchExpression match;
  bool operator==(const KeyExpression&) const = default;
};

// A condition on one feature.
struct FeatureTerm {
  std::string feature;  // as written: "pci.device"
  std::string lookup;   // the same in lower case
  // All must match, on a single instance if the feature has instances. Absent and empty differ:
  // empty matches if there is any element.
  std::optional<std::vector<KeyExpression>> expressions;
  std::optional<MatchExpression> name;  // at least one name must match
  bool operator==(const FeatureTerm&) const = default;
};

struct Rule {
  std::string name;
  std::map<std::string, std::string> labels;  // values may be "@feature.element"
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> extended_resources;
  std::map<std::string, std::string> vars;
  std::vector<Taint> taints;
  std::optional<gotemplate::Template> labels_template;
  std::optional<gotemplate::Template> vars_template;
  std::vector<FeatureTerm> all;               // matchFeatures
  std::vector<std::vector<FeatureTerm>> any;  // matchAny: one must match
  bool operator==(const Rule&) const = default;
};

// The rules of one file or object, in order.
struct RuleSet {
  std::string name;  // the object's; the file's for a list of rules
  std::vector<Rule> rules;
  bool operator==(const RuleSet&) const = default;
};

// Parses a NodeFeatureRule object, or a list of rules, in YAML or JSON (by the suffix of
// `file`). Errors: InvalidArgument, "file:line:column: rules[0].matchFeatures[1].op: …" for
// every error.
StatusOr<RuleSet> ParseRules(std::string_view text, std::string_view file);

// The usable rules of a file: a wrong one costs no other.
struct RuleFile {
  std::vector<RuleSet> sets;            // in order
  std::vector<std::string> problems{};  // "file:line:column: rules[0].matchFeatures[1].op: …"
  std::vector<std::string> hints{};     // the same for names that no source of features has
  // A document is no YAML or JSON: its rules are not known.
  bool has_unreadable = false;
};

// Reads a file that may hold several YAML documents separated by "---", each an object, a list of
// rules, or a List of objects as kubectl prints it.
RuleFile ReadRuleFile(std::string_view text, std::string_view file);

// The same for a file that must be without a mistake. Errors: InvalidArgument, all problems.
StatusOr<std::vector<RuleSet>> ParseRuleFile(std::string_view text, std::string_view file);

// An object from the API server. As in NFD, an invalid rule does not hide the others: `problems`
// names it.
struct RuleObject {
  RuleSet rules;
  std::vector<std::string> problems;
};
// Errors: InvalidArgument: not a NodeFeatureRule at all.
StatusOr<RuleObject> ReadRuleObject(const boost::json::value& object);

}  // namespace kgpu::labels
