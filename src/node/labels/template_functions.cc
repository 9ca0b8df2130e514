#include "src/node/labels/template_functions.h"

#include <algorithm>
#include <array>

namespace kgpu::labels {
namespace {

std::array<std::span<const Function>, 3> Groups() {
  return {TextFunctions(), NumberFunctions(), ListFunctions()};
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  for (const auto& group : Groups()) {
    const auto found = std::ranges::find(group, name, &Function::name);
    if (found != group.end()) {
      return &*found;
    }
  }
  return nullptr;
}

std::vector<std::string_view> FunctionNames() {
  std::vector<std::string_view> names;
  for (const auto& group : Groups()) {
    std::ranges::transform(group, std::back_inserter(names), &Function::name);
  }
  std::ranges::sort(names);
  return names;
}

StatusOr<std::string_view> TextOf(const Value& value) {
  const std::string* text = value.if_text();
  if (text != nullptr) {
    return *text;
  }
  return InvalidArgument("{} instead of a string{}", value.KindName(),
                         value.if_number() != nullptr ? ": use toString" : "");
}

StatusOr<int64_t> NumberOf(const Value& value) {
  const int64_t* number = value.if_number();
  if (number != nullptr) {
    return *number;
  }
  return InvalidArgument("{} instead of a number{}", value.KindName(),
                         value.if_text() != nullptr ? ": use atoi" : "");
}

StatusOr<const Value::List*> ListOf(const Value& value) {
  const Value::List* list = value.if_list();
  if (list != nullptr) {
    return list;
  }
  return InvalidArgument("{} instead of a list", value.KindName());
}

}  // namespace kgpu::labels
