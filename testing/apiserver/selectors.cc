#include "testing/apiserver/selectors.h"

#include <algorithm>

#include <boost/json.hpp>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/apiserver/failure.h"
#include "testing/apiserver/json_fields.h"
#include "testing/apiserver/names.h"
#include "testing/apiserver/resource.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;

Status BadLabelSelector(std::string_view text, std::string_view why) {
  return BadRequest(fmt::format("unable to parse requirement: {}: {}", text, why));
}

// At commas that are not within parentheses.
std::vector<std::string_view> SplitRequirements(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  bool is_within = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && !is_within)) {
      parts.push_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    } else if (text[i] == '(' || text[i] == ')') {
      is_within = text[i] == '(';
    }
  }
  return parts;
}

std::optional<std::vector<std::string>> ValuesInParentheses(std::string_view text) {
  text = Trim(text);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    return std::nullopt;
  }
  std::vector<std::string> values;
  for (const std::string_view value : Split(text.substr(1, text.size() - 2), ',')) {
    values.emplace_back(Trim(value));
  }
  return values;
}

}  // namespace

StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (Trim(text).empty()) {
    return selector;
  }
  for (const std::string_view part : SplitRequirements(text)) {
    ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(part));
    if (const auto problem = LabelKeyProblem(requirement.key); problem) {
      return BadLabelSelector(part, *problem);
    }
    for (const std::string& value : requirement.values) {
      if (const auto problem = LabelValueProblem(value); problem) {
        return BadLabelSelector(part, *problem);
      }
    }
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

StatusOr<LabelSelector::Requirement> LabelSelector::ParseRequirement(std::string_view text) {
  for (const auto& [word, is] :
       {std::pair{" notin ", Operator::kNotIn}, std::pair{" notin(", Operator::kNotIn},
        std::pair{" in ", Operator::kIn}, std::pair{" in(", Operator::kIn}}) {
    const std::string_view token = word;
    if (const size_t at = text.find(token); at != std::string_view::npos) {
      const auto values = ValuesInParentheses(text.substr(at + token.size() - 1));
      if (!values) {
        return BadLabelSelector(text, "values must stand in parentheses");
      }
      return Requirement{std::string(Trim(text.substr(0, at))), is, *values};
    }
  }
  if (const size_t at = text.find("!="); at != std::string_view::npos) {
    return Requirement{std::string(Trim(text.substr(0, at))),
                       Operator::kNotIn,
                       {std::string(Trim(text.substr(at + 2)))}};
  }
  if (const size_t at = text.find('='); at != std::string_view::npos) {
    const size_t end = at + 1 < text.size() && text[at + 1] == '=' ? at + 2 : at + 1;
    return Requirement{std::string(Trim(text.substr(0, at))),
                       Operator::kIn,
                       {std::string(Trim(text.substr(end)))}};
  }
  if (text.starts_with('!')) {
    return Requirement{std::string(Trim(text.substr(1))), Operator::kDoesNotExist, {}};
  }
  return Requirement{std::string(text), Operator::kExists, {}};
}

StatusOr<LabelSelector> LabelSelector::FromObject(const json::object& object) {
  static const std::map<std::string_view, Operator> kOperators = {
      {"In", Operator::kIn},
      {"NotIn", Operator::kNotIn},
      {"Exists", Operator::kExists},
      {"DoesNotExist", Operator::kDoesNotExist}};
  LabelSelector selector;
  if (const json::object* labels = ObjectAt(object, {"matchLabels"}); labels != nullptr) {
    for (const auto& [key, value] : *labels) {
      selector.requirements_.push_back({std::string(key), Operator::kIn, {PlainText(&value)}});
    }
  }
  for (const json::value& item : ItemsAt(object, {"matchExpressions"})) {
    const json::object expression = item.is_object() ? item.get_object() : json::object();
    const auto found = kOperators.find(TextAt(expression, {"operator"}));
    if (found == kOperators.end()) {
      return BadRequest("matchExpressions: operator must be In, NotIn, Exists or DoesNotExist");
    }
    Requirement requirement{std::string(TextAt(expression, {"key"})), found->second, {}};
    for (const json::value& value : ItemsAt(expression, {"values"})) {
      requirement.values.push_back(PlainText(&value));
    }
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool LabelSelector::Holds(const Requirement& requirement, const json::object* labels) {
  const json::value* value = labels == nullptr ? nullptr : FieldAt(*labels, {requirement.key});
  const bool is_listed =
      value != nullptr &&
      std::ranges::find(requirement.values, PlainText(value)) != requirement.values.end();
  switch (requirement.is) {
    case Operator::kIn:
      return is_listed;
    case Operator::kNotIn:
      return !is_listed;
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
  }
  return false;
}

bool LabelSelector::Matches(const json::object* labels) const {
  return std::ranges::all_of(
      requirements_, [&](const Requirement& requirement) { return Holds(requirement, labels); });
}

StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text, const Resource& resource) {
  FieldSelector selector;
  for (const std::string_view part : Split(text, ',')) {
    if (Trim(part).empty()) {
      continue;
    }
    const size_t at = part.find('=');
    if (at == std::string_view::npos || at == 0) {
      return BadRequest(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    }
    const bool is_equal = part[at - 1] != '!';
    const size_t value = part.substr(at).starts_with("==") ? at + 2 : at + 1;
    Term term{.field = std::string(Trim(part.substr(0, is_equal ? at : at - 1))),
              .value = std::string(Trim(part.substr(value))),
              .is_equal = is_equal};
    const bool is_known =
        term.field == "metadata.name" ||
        (term.field == "metadata.namespace" && resource.is_namespaced) ||
        std::ranges::find(resource.selectable, term.field) != resource.selectable.end();
    if (!is_known) {
      return BadRequest(fmt::format("field label not supported: {}", term.field));
    }
    selector.terms_.push_back(std::move(term));
  }
  return selector;
}

bool FieldSelector::Matches(const json::object& object) const {
  return std::ranges::all_of(terms_, [&](const Term& term) {
    std::string value = PlainText(FieldAtDots(object, term.field));
    if (value.empty() && (term.value == "true" || term.value == "false")) {
      value = "false";  // an absent flag
    }
    if (term.field == "source") {
      value = TextAt(object, {"source", "component"});
    }
    return (value == term.value) == term.is_equal;
  });
}

std::optional<std::string> FieldSelector::Exactly(std::string_view field) const {
  for (const Term& term : terms_) {
    if (term.field == field && term.is_equal) {
      return term.value;
    }
  }
  return std::nullopt;
}

}  // namespace kgpu::apiserver
