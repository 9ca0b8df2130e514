// The functions that templates may call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/pattern.h"
#include "src/node/labels/template_value.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

inline constexpr size_t kAnyNumber = SIZE_MAX;

struct Function {
  using Body = StatusOr<Value> (*)(std::span<const Value> arguments, const Pattern* pattern);

  std::string_view name;
  size_t least = 0;  // arguments
  size_t most = 0;
  Body body = nullptr;
  // Which value is returned without evaluating the other arguments: "or" the first that is true,
  // "and" the first that is not.
  enum class Stop : uint8_t { kNever, kAtTrue, kAtFalse } stop = Stop::kNever;
  // The first argument is a regular expression, which is not passed to the body.
  bool takes_pattern = false;
};

using Arguments = std::span<const Value>;

// Sorted by name; each kind in its own file.
std::span<const Function> TextFunctions();
std::span<const Function> NumberFunctions();
std::span<const Function> ListFunctions();

// Null if there is none.
const Function* FindFunction(std::string_view name);
// Names of all functions, sorted.
std::vector<std::string_view> FunctionNames();

// Converts arguments to the required type. Errors: InvalidArgument, "a list instead of a string".
StatusOr<std::string_view> TextOf(const Value& value);
StatusOr<int64_t> NumberOf(const Value& value);
StatusOr<const Value::List*> ListOf(const Value& value);

// printf. Errors: InvalidArgument: an unknown verb, too many or too few values, a value of the
// wrong type.
StatusOr<std::string> FormatText(std::string_view format, Arguments values);
// Checks everything that does not need the values.
Status CheckFormat(std::string_view format, size_t values);

}  // namespace kgpu::labels
