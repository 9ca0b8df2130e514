#include "src/platform/gotemplate/value.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace kgpu::gotemplate {

bool Value::IsTrue() const {
  if (const bool* truth = if_truth()) {
    return *truth;
  }
  if (const int64_t* number = if_number()) {
    return *number != 0;
  }
  if (const double* number = if_decimal()) {
    return *number != 0;
  }
  if (const std::string* text = if_text()) {
    return !text->empty();
  }
  if (const List* list = if_list()) {
    return !list->empty();
  }
  const Dict* dict = if_dict();
  return dict != nullptr && !dict->empty();
}

StatusOr<std::string> Value::Text() const {
  if (const std::string* text = if_text()) {
    return *text;
  }
  if (const int64_t* number = if_number()) {
    return fmt::format("{}", *number);
  }
  if (const bool* truth = if_truth()) {
    return std::string(*truth ? "true" : "false");
  }
  if (is_nothing()) {
    return std::string();
  }
  return InvalidArgument("{} cannot be printed: use range, index, first or join", KindName());
}

std::string_view Value::KindName() const {
  constexpr std::array<std::string_view, 7> kNames = {
      "nothing", "true or false", "a number", "a decimal number", "a string", "a list", "a map"};
  return kNames.at(held_.index());
}

std::vector<std::string> Value::OrderedKeys() const {
  const auto* held = std::get_if<std::shared_ptr<const Map>>(&held_);
  if (held == nullptr) {
    return {};
  }
  std::vector<std::string> keys = (*held)->order;
  if (keys.empty()) {
    std::ranges::transform((*held)->fields, std::back_inserter(keys), &Dict::value_type::first);
  }
  return keys;
}

bool Value::operator==(const Value& other) const {
  if (const List* list = if_list()) {
    const List* others = other.if_list();
    return others != nullptr && *list == *others;
  }
  if (const Dict* dict = if_dict()) {
    const Dict* others = other.if_dict();
    return others != nullptr && *dict == *others;
  }
  return held_ == other.held_;
}

}  // namespace kgpu::gotemplate
