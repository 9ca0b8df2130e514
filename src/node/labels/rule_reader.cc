#include "src/node/labels/rule_reader.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "src/node/config/tree_reader.h"
#include "src/node/labels/filters.h"
#include "src/node/labels/known_features.h"
#include "src/node/labels/names.h"
#include "src/node/labels/rule_template.h"
#include "src/platform/base/strings.h"

namespace kgpu::labels {
namespace {

using config::Node;
using config::Word;
using Strings = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 10> kRuleKeys = {
    "name",         "labels", "labelsTemplate",    "annotations",   "vars",
    "varsTemplate", "taints", "extendedResources", "matchFeatures", "matchAny"};
constexpr std::array<std::string_view, 3> kTermKeys = {"feature", "matchExpressions", "matchName"};
constexpr std::array<std::string_view, 1> kAnyKeys = {"matchFeatures"};
constexpr std::array<std::string_view, 3> kExpressionKeys = {"op", "value", "type"};
constexpr std::array<std::string_view, 3> kTaintKeys = {"key", "value", "effect"};
constexpr std::array kOpWords = {
    Word<Op>{"In", Op::kIn},
    Word<Op>{"NotIn", Op::kNotIn},
    Word<Op>{"InRegexp", Op::kInRegexp},
    Word<Op>{"Exists", Op::kExists},
    Word<Op>{"DoesNotExist", Op::kDoesNotExist},
    Word<Op>{"Gt", Op::kGt},
    Word<Op>{"Ge", Op::kGe},
    Word<Op>{"Lt", Op::kLt},
    Word<Op>{"Le", Op::kLe},
    Word<Op>{"GtLt", Op::kGtLt},
    Word<Op>{"GeLe", Op::kGeLe},
    Word<Op>{"IsTrue", Op::kIsTrue},
    Word<Op>{"IsFalse", Op::kIsFalse},
};
constexpr std::array kTypeWords = {Word<bool>{"version", true}};

using CheckPair = std::function<Status(std::string_view key, std::string_view value)>;

// A map of texts, each pair of which passes `check`.
Strings ReadPairs(const Node& node, const CheckPair& check) {
  Strings pairs;
  node.ForAnyField([&](std::string_view key, const Node& field) {
    if (auto value = field.CheckedString([&](std::string_view text) { return check(key, text); })) {
      pairs.emplace(key, *std::move(value));
    }
  });
  return pairs;
}

bool IsReference(std::string_view value) {
  return value.starts_with('@');
}

// The checks that need no features.
Status CheckReference(std::string_view value) {
  const auto parts = Split(value.substr(1), '.');
  if (parts.size() >= 3 && !parts[0].empty() && !parts[1].empty() && !parts[2].empty()) {
    return OkStatus();
  }
  return InvalidArgument("\"{}\": a reference must be @domain.feature.element",
                         Printable(value, 80));
}

// For labels, annotations and extended resources.
CheckPair Checked(
    const std::function<Status(std::string_view key, std::string_view value)>& check) {
  return [check](std::string_view key, std::string_view value) {
    if (const Status status = CheckKey(WholeKey(key)); !status.ok()) {
      return status;
    }
    return IsReference(value) ? CheckReference(value) : check(WholeKey(key), value);
  };
}

Status CheckLabelPair(std::string_view, std::string_view value) {
  return CheckLabelValue(value);
}

Status CheckVar(std::string_view key, std::string_view) {
  return key.empty() ? InvalidArgument("a var needs a name") : OkStatus();
}

std::vector<Taint> ReadTaints(const Node& list) {
  std::vector<Taint> taints;
  list.ForEachItem([&](const Node& item) {
    Taint taint;
    item.ForEachField(kTaintKeys, [&](std::string_view name, const Node& field) {
      std::string& target = name == "key"     ? taint.key
                            : name == "value" ? taint.value
                                              : taint.effect;
      target = field.String().value_or("");
    });
    if (const Status status = CheckTaint(taint); !status.ok()) {
      item.Error("{}", Message(status));
    }
    taints.push_back(std::move(taint));
  });
  return taints;
}

// A template may only use features that some matcher names: no others are available to
// it.
void CheckPaths(const Node& node, std::string_view field, const gotemplate::Template& source,
                const std::vector<std::string>& features) {
  for (const gotemplate::Path& path : source.paths()) {
    const std::string wanted =
        ToLower(path.fields.size() > 1 ? fmt::format("{}.{}", path.fields[0], path.fields[1])
                                       : fmt::format("{}.", path.fields[0]));
    const bool is_known = std::ranges::any_of(features, [&](const std::string& feature) {
      return path.fields.size() > 1 ? feature == wanted : feature.starts_with(wanted);
    });
    if (!is_known) {
      node.Error(
          "{}: line {}, column {}: .{} belongs to no feature that this rule matches; it matches {}",
          field, path.place.line, path.place.column, Join(path.fields, "."),
          Printable(Join(features, ", "), 120));
    }
  }
}

void CheckTemplates(const Node& node, const Rule& rule) {
  if (!rule.labels_template && !rule.vars_template) {
    return;
  }
  std::vector<std::string> features;
  const auto add = [&](const std::vector<FeatureTerm>& terms) {
    for (const FeatureTerm& term : terms) {
      if (std::ranges::find(features, term.lookup) == features.end()) {
        features.push_back(term.lookup);
      }
    }
  };
  add(rule.all);
  std::ranges::for_each(rule.any, add);
  if (features.empty()) {
    node.Error("a template needs the matched features: add matchFeatures or matchAny");
    return;
  }
  if (rule.labels_template) {
    CheckPaths(node, "labelsTemplate", *rule.labels_template, features);
  }
  if (rule.vars_template) {
    CheckPaths(node, "varsTemplate", *rule.vars_template, features);
  }
}

}  // namespace

Rule RuleReader::Read(const Node& node) {
  Rule rule;
  bool has_name = false;
  node.ForEachField(kRuleKeys, [&](std::string_view name, const Node& field) {
    has_name = has_name || name == "name";
    ReadField(name, field, rule);
  });
  if (node.is_map()) {
    if (!has_name) {
      node.Error("name is missing: each rule needs one");
    }
    CheckTemplates(node, rule);
  }
  return rule;
}

void RuleReader::ReadField(std::string_view name, const Node& field, Rule& rule) {
  if (name == "name") {
    rule.name = field.String().value_or("");
  } else if (name == "labels") {
    rule.labels = ReadPairs(field, Checked(CheckLabelPair));
    HintOnReferences(field);
  } else if (name == "annotations") {
    rule.annotations = ReadPairs(field, Checked(CheckAnnotation));
    HintOnReferences(field);
  } else if (name == "extendedResources") {
    rule.extended_resources = ReadPairs(field, Checked(CheckExtendedResource));
    HintOnReferences(field);
  } else if (name == "vars") {
    rule.vars = ReadPairs(field, CheckVar);
  } else if (name == "taints") {
    rule.taints = ReadTaints(field);
  } else if (name == "labelsTemplate") {
    rule.labels_template = ReadTemplate(field);
  } else if (name == "varsTemplate") {
    rule.vars_template = ReadTemplate(field);
  } else if (name == "matchFeatures") {
    rule.all = ReadTerms(field);
  } else {
    field.ForEachItem([&](const Node& item) {
      std::vector<FeatureTerm> terms;
      item.ForEachField(kAnyKeys,
                        [&](std::string_view, const Node& list) { terms = ReadTerms(list); });
      rule.any.push_back(std::move(terms));
    });
  }
}

// The template's line and column are in the text: the place is that of the field.
std::optional<gotemplate::Template> RuleReader::ReadTemplate(const Node& node) {
  const auto text = node.String();
  if (!text || Trim(*text).empty()) {
    return std::nullopt;
  }
  auto source = node.Accept(gotemplate::Template::Parse(*text, RuleLanguage()));
  if (!source) {
    return std::nullopt;
  }
  parts_ += source->parts();
  patterns_ += source->patterns();
  if (parts_ > RuleLanguage().limits.parts || patterns_ > kMaxPatterns) {
    node.Error(
        "the templates of this file have more than {} parts or {} regular expressions: "
        "split the rules",
        RuleLanguage().limits.parts, kMaxPatterns);
    return std::nullopt;
  }
  return source;
}

std::vector<FeatureTerm> RuleReader::ReadTerms(const Node& list) {
  std::vector<FeatureTerm> terms;
  list.ForEachItem([&](const Node& item) { terms.push_back(ReadTerm(item)); });
  return terms;
}

FeatureTerm RuleReader::ReadTerm(const Node& node) {
  FeatureTerm term;
  bool has_feature = false;
  node.ForEachField(kTermKeys, [&](std::string_view name, const Node& field) {
    if (name == "feature") {
      has_feature = true;
      term.feature = field.String().value_or("");
      term.lookup = ToLower(term.feature);
      const size_t dot = term.feature.find('.');
      if (field.is_string() &&
          (dot == 0 || dot == std::string::npos || dot + 1 == term.feature.size())) {
        field.Error("{} must be domain.feature, such as pci.device", field.Shown());
      }
    } else if (name == "matchExpressions") {
      term.expressions = ReadExpressions(field);
      // All must match, in any order: cheap ones are checked first.
      std::ranges::stable_partition(*term.expressions, [](const KeyExpression& expression) {
        return expression.match.op() != Op::kInRegexp;
      });
    } else {
      term.name = ReadExpression(field);
    }
  });
  if (node.is_map() && !has_feature) {
    node.Error("feature is missing: set what to match, such as pci.device");
  }
  HintOnTerm(node, term);
  return term;
}

void RuleReader::Hint(const Node& node, const std::string& text) const {
  if (!text.empty()) {
    hints_->Add(node.position(), fmt::format("{}: {}", node.path(), text));
  }
}

void RuleReader::HintOnTerm(const Node& node, const FeatureTerm& term) const {
  if (hints_ == nullptr || term.feature.empty()) {
    return;
  }
  Hint(node, HintOnFeature(term.feature));
  for (const KeyExpression& expression : term.expressions.value_or(std::vector<KeyExpression>())) {
    Hint(node, HintOnElement(term.feature, expression.key));
  }
}

// Of values such as "@kernel.version.full".
void RuleReader::HintOnReferences(const Node& pairs) const {
  if (hints_ == nullptr || !pairs.is_map()) {
    return;
  }
  pairs.ForAnyField([this](std::string_view, const Node& field) {
    const std::string value = field.is_string() ? field.String().value_or("") : "";
    const size_t first = value.find('.');
    const size_t second = first == std::string::npos ? first : value.find('.', first + 1);
    if (IsReference(value) && second != std::string::npos) {
      const std::string feature = value.substr(1, second - 1);
      Hint(field, HintOnFeature(feature));
      Hint(field, HintOnElement(feature, value.substr(second + 1)));
    }
  });
}

std::vector<KeyExpression> RuleReader::ReadExpressions(const Node& node) {
  std::vector<KeyExpression> expressions;
  if (node.is_list()) {
    node.ForEachItem([&](const Node& item) { ReadShortExpression(item, expressions); });
    return expressions;
  }
  node.ForAnyField([&](std::string_view key, const Node& field) {
    if (auto match = ReadExpression(field)) {
      expressions.push_back({.key = std::string(key), .match = *std::move(match)});
    }
  });
  return expressions;
}

// "key" is there, "key=value" is so.
void RuleReader::ReadShortExpression(const Node& item, std::vector<KeyExpression>& expressions) {
  const auto text = item.String();
  if (!text) {
    return;
  }
  const size_t equals = text->find('=');
  auto match = equals == std::string::npos ? Make(item, Op::kExists, {})
                                           : Make(item, Op::kIn, {text->substr(equals + 1)});
  if (match) {
    expressions.push_back({.key = text->substr(0, equals), .match = *std::move(match)});
  }
}

// {op: …, value: …}, or its short form: nothing for Exists, one value or a list of them for In.
std::optional<MatchExpression> RuleReader::ReadExpression(const Node& node) {
  if (node.is_map()) {
    return ReadWholeExpression(node);
  }
  if (node.is_null()) {
    return Make(node, Op::kExists, {});
  }
  return Make(node, Op::kIn, node.Strings());
}

std::optional<MatchExpression> RuleReader::ReadWholeExpression(const Node& node) {
  std::optional<Op> op;
  bool has_op = false;
  bool are_versions = false;
  std::vector<std::string> values;
  node.ForEachField(kExpressionKeys, [&](std::string_view name, const Node& field) {
    if (name == "op") {
      has_op = true;
      op = field.OneOf<Op>(kOpWords);
    } else if (name == "type") {
      are_versions = field.OneOf<bool>(kTypeWords).value_or(false);
    } else {
      values = field.Strings();
    }
  });
  if (!has_op) {
    node.Error("op is missing: one of In, NotIn, InRegexp, Exists, DoesNotExist, Gt, …");
  }
  return op ? Make(node, *op, std::move(values), are_versions) : std::nullopt;
}

std::optional<MatchExpression> RuleReader::Make(const Node& node, Op op,
                                                std::vector<std::string> values,
                                                bool are_versions) {
  patterns_ += op == Op::kInRegexp ? values.size() : 0;
  if (patterns_ > kMaxPatterns) {
    node.Error("more than {} regular expressions: split the rules", kMaxPatterns);
    return std::nullopt;
  }
  return node.Accept(MatchExpression::Create(op, std::move(values), are_versions));
}

}  // namespace kgpu::labels
