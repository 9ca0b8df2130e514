#include "src/node/choice/node_selector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "src/node/labels/names.h"
#include "src/platform/base/strings.h"

namespace kgpu::choice {
namespace {

using config::Node;

constexpr std::array<std::string_view, 2> kSelectorKeys = {"matchLabels", "matchExpressions"};
constexpr std::array<std::string_view, 3> kExpressionKeys = {"key", "operator", "values"};
constexpr std::array kOperatorWords = {
    config::Word<Operator>{"In", Operator::kIn},
    config::Word<Operator>{"NotIn", Operator::kNotIn},
    config::Word<Operator>{"Exists", Operator::kExists},
    config::Word<Operator>{"DoesNotExist", Operator::kDoesNotExist},
    config::Word<Operator>{"Gt", Operator::kGt},
    config::Word<Operator>{"Lt", Operator::kLt},
};

bool IsBound(Operator op) {
  return op == Operator::kGt || op == Operator::kLt;
}

bool TakesNoValue(Operator op) {
  return op == Operator::kExists || op == Operator::kDoesNotExist;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

bool Holds(const Expression& expression, const Labels& labels) {
  const auto found = labels.find(expression.key);
  const bool is_there = found != labels.end();
  const auto is_listed = [&] {
    return is_there &&
           std::ranges::find(expression.values, found->second) != expression.values.end();
  };
  const auto number = is_there ? ParseInteger(found->second) : std::nullopt;
  switch (expression.op) {
    case Operator::kIn:
      return is_listed();
    case Operator::kNotIn:
      return !is_listed();
    case Operator::kExists:
      return is_there;
    case Operator::kDoesNotExist:
      return !is_there;
    case Operator::kGt:
      return number && *number > expression.bound;
    case Operator::kLt:
      return number && *number < expression.bound;
  }
  return false;
}

void CheckValues(const Node& node, Expression& expression) {
  const std::string_view word = config::NameOf<Operator>(kOperatorWords, expression.op);
  const size_t count = expression.values.size();
  if (TakesNoValue(expression.op)) {
    if (count > 0) {
      node.Error("values: {} takes none: remove them", word);
    }
  } else if (!IsBound(expression.op)) {
    if (count == 0) {
      node.Error("values: missing: {} needs at least one", word);
    }
  } else {
    const auto bound = count == 1 ? ParseInteger(expression.values.front()) : std::nullopt;
    if (!bound) {
      node.Error("values: {} needs exactly one integer, in quotes: [\"8\"]", word);
    }
    expression.bound = bound.value_or(0);
    expression.values.clear();
  }
}

Expression ReadExpression(const Node& node) {
  Expression expression;
  bool has_key = false;
  bool has_operator = false;
  bool are_values_ok = true;
  std::optional<Operator> op;
  node.ForEachField(kExpressionKeys, [&](std::string_view name, const Node& field) {
    if (name == "key") {
      has_key = true;
      config::Set(expression.key, field.CheckedString(&labels::CheckKey));
    } else if (name == "operator") {
      has_operator = true;
      op = field.OneOf<Operator>(kOperatorWords);
    } else {
      are_values_ok = field.is_list();
      field.ForEachItem([&](const Node& item) {
        const auto value = item.CheckedString(&labels::CheckLabelValue);
        are_values_ok = are_values_ok && value;
        expression.values.push_back(value.value_or(""));
      });
    }
  });
  if (node.is_map() && !has_key) {
    node.Error("key: missing: name a label");
  }
  if (node.is_map() && !has_operator) {
    node.Error("operator: missing: set In, NotIn, Exists, DoesNotExist, Gt or Lt");
  }
  if (op && are_values_ok) {
    expression.op = *op;
    CheckValues(node, expression);
  }
  return expression;
}

}  // namespace

bool Matches(const NodeSelector& selector, const Labels& labels) {
  const bool has_labels = std::ranges::all_of(selector.labels, [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
  return has_labels && std::ranges::all_of(selector.expressions, [&](const Expression& expression) {
           return Holds(expression, labels);
         });
}

NodeSelector ReadNodeSelector(const Node& node) {
  NodeSelector selector;
  node.ForEachField(kSelectorKeys, [&](std::string_view name, const Node& field) {
    if (name == "matchExpressions") {
      field.ForEachItem(
          [&](const Node& item) { selector.expressions.push_back(ReadExpression(item)); });
      return;
    }
    field.ForAnyField([&](std::string_view key, const Node& value) {
      if (const Status status = labels::CheckKey(key); !status.ok()) {
        value.KeyError("{}", Message(status));
      }
      if (auto text = value.CheckedString(&labels::CheckLabelValue)) {
        selector.labels[std::string(key)] = *std::move(text);
      }
    });
  });
  return selector;
}

}  // namespace kgpu::choice
