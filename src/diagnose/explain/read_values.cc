// Fields that objects of several kinds have in common.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include "src/diagnose/explain/readers.h"
#include "src/kube/api/json.h"
#include "src/platform/doc/json_values.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;

// Quantities may be written as whole numbers.
std::optional<Amount> AmountIn(const json::value& value) {
  if (const json::string* text = value.if_string()) {
    return ParseAmount({text->data(), text->size()});
  }
  if (const int64_t* number = value.if_int64()) {
    return ParseAmount(fmt::format("{}", *number));
  }
  return std::nullopt;
}

Requirement ReadRequirement(const json::value& object) {
  return {.key = Text(object, {"key"}),
          .op = Text(object, {"operator"}),
          .values = TextList(object, {"values"})};
}

}  // namespace

std::string Text(const json::value& object, Path path) {
  return std::string(kube::TextField(object, path));
}

bool Flag(const json::value& object, Path path) {
  const json::value* value = kube::FindField(object, path);
  return value != nullptr && value->is_bool() && value->get_bool();
}

void ForEach(const json::value& object, Path path,
             const std::function<void(const json::value&)>& take) {
  const json::value* list = kube::FindField(object, path);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (const json::value& item : list->get_array()) {
    take(item);
  }
}

std::vector<std::string> TextList(const json::value& object, Path path) {
  return doc::TextsOf(kube::FindField(object, path));
}

Texts ReadTexts(const json::value& object, Path path) {
  Texts texts;
  const json::value* fields = kube::FindField(object, path);
  if (fields == nullptr || !fields->is_object()) {
    return texts;
  }
  for (const auto& field : fields->get_object()) {
    if (const json::string* text = field.value().if_string()) {
      texts.emplace(std::string(field.key()), std::string(text->data(), text->size()));
    }
  }
  return texts;
}

Amounts ReadAmounts(const json::value& object, Path path, std::vector<std::string>* wrong) {
  Amounts amounts;
  const json::value* fields = kube::FindField(object, path);
  if (fields == nullptr || !fields->is_object()) {
    return amounts;
  }
  for (const auto& field : fields->get_object()) {
    const std::string key(field.key());
    if (const auto amount = AmountIn(field.value())) {
      amounts[key] = *amount;
    } else if (wrong != nullptr) {
      wrong->push_back(key);
    }
  }
  return amounts;
}

std::vector<Taint> ReadTaints(const json::value& object, Path path) {
  std::vector<Taint> taints;
  const auto take = [&](const json::value& item) {
    taints.push_back({.key = Text(item, {"key"}),
                      .value = Text(item, {"value"}),
                      .effect = Text(item, {"effect"})});
  };
  ForEach(object, path, take);
  return taints;
}

std::vector<Taint> ReadDeviceTaints(const json::value& object, Path path) {
  std::vector<Taint> taints = ReadTaints(object, path);
  std::erase_if(taints, [](const Taint& taint) {
    return taint.effect != "NoSchedule" && taint.effect != "NoExecute";
  });
  return taints;
}

std::vector<Condition> ReadConditions(const json::value& object) {
  std::vector<Condition> conditions;
  const auto take = [&](const json::value& item) {
    conditions.push_back({.type = Text(item, {"type"}),
                          .status = Text(item, {"status"}),
                          .reason = Text(item, {"reason"}),
                          .message = Text(item, {"message"}),
                          .since = Text(item, {"lastTransitionTime"})});
  };
  ForEach(object, {"status", "conditions"}, take);
  return conditions;
}

std::vector<SelectorTerm> ReadTerms(const json::value& object, Path path) {
  std::vector<SelectorTerm> terms;
  const auto take = [&](const json::value& item) {
    SelectorTerm& term = terms.emplace_back();
    const auto add_label = [&](const json::value& one) {
      term.labels.push_back(ReadRequirement(one));
    };
    const auto add_field = [&](const json::value& one) {
      term.fields.push_back(ReadRequirement(one));
    };
    ForEach(item, {"matchExpressions"}, add_label);
    ForEach(item, {"matchFields"}, add_field);
  };
  ForEach(object, path, take);
  return terms;
}

const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type) {
  for (const Condition& condition : conditions) {
    if (condition.type == type) {
      return &condition;
    }
  }
  return nullptr;
}

bool IsExtended(std::string_view resource) {
  const size_t slash = resource.find('/');
  if (slash == std::string_view::npos || resource.starts_with("requests.")) {
    return false;
  }
  const std::string_view domain = resource.substr(0, slash);
  return domain != "kubernetes.io" && !domain.ends_with(".kubernetes.io");
}

}  // namespace kgpu::explain
