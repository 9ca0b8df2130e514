#include "src/platform/gotemplate/functions.h"

#include <algorithm>
#include <array>

namespace kgpu::gotemplate {
namespace {

std::array<std::span<const Function>, 3> Groups() {
  return {TextFunctions(), NumberFunctions(), ListFunctions()};
}

}  // namespace

std::vector<Function> AllFunctions() {
  std::vector<Function> functions;
  for (const auto& group : Groups()) {
    functions.insert(functions.end(), group.begin(), group.end());
  }
  return functions;
}

std::vector<Function> FunctionsNamed(std::span<const std::string_view> names) {
  std::vector<Function> functions = AllFunctions();
  std::erase_if(functions, [&](const Function& function) {
    return std::ranges::find(names, function.name) == names.end();
  });
  return functions;
}

const Function* Language::Find(std::string_view name) const {
  const auto found = std::ranges::find(functions, name, &Function::name);
  return found == functions.end() ? nullptr : &*found;
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

}  // namespace kgpu::gotemplate
