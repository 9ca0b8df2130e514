#include "src/node/labels/template_value.h"

#include <array>

namespace kgpu::labels {

bool Value::IsTrue() const {
  if (const bool* truth = if_truth()) {
    return *truth;
  }
  if (const int64_t* number = if_number()) {
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
  constexpr std::array<std::string_view, 6> kNames = {"nothing",  "true or false", "a number",
                                                      "a string", "a list",        "a map"};
  return kNames.at(held_.index());
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

}  // namespace kgpu::labels
