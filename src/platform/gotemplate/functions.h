// The functions that templates may call, and the language that a program makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/gotemplate/value.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::gotemplate {

inline constexpr size_t kAnyNumber = SIZE_MAX;

using Arguments = std::span<const Value>;

// A function whose error has this code ends the template: the error's text is the whole message.
inline constexpr StatusCode kEnds = StatusCode::kAborted;

struct Context {
  const Pattern* pattern = nullptr;  // of a function that takes one
  size_t most_bytes = 0;             // a longer result is an error, so a function may stop there
};

struct Function {
  using Body = StatusOr<Value> (*)(Arguments arguments, const Context& context);

  // One that begins with a dot is a method: ".Get" is called as .Files.Get, and .Files is its first
  // argument.
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

// Sorted by name; each kind in its own file.
std::span<const Function> TextFunctions();
std::span<const Function> NumberFunctions();
std::span<const Function> ListFunctions();

// All of these, or those with the given names.
std::vector<Function> AllFunctions();
std::vector<Function> FunctionsNamed(std::span<const std::string_view> names);

struct Limits {
  size_t text_bytes = size_t{64} << 10;
  size_t depth = 32;  // of nested blocks and brackets
  // Nodes, calls and values, half a kilobyte each.
  size_t parts = 20'000;
  // Limit for an expansion, and for every intermediate text.
  size_t output_bytes = size_t{64} << 10;
  // Limit for nodes visited, values created and kilobytes copied.
  size_t steps = 100'000;
};

// Must outlive its templates.
struct Language {
  std::vector<Function> functions{};
  Limits limits{};
  std::string_view reference{};  // the page that lists the functions
  // The text of a value that an action prints. Errors: InvalidArgument, "a list cannot be printed:
  // …".
  StatusOr<std::string> (*print)(const Value& value) = [](const Value& value) {
    return value.Text();
  };

  // Null if there is none.
  const Function* Find(std::string_view name) const;
};

// Converts arguments to the required type. Errors: InvalidArgument, "a list instead of a string".
StatusOr<std::string_view> TextOf(const Value& value);
StatusOr<int64_t> NumberOf(const Value& value);
StatusOr<const Value::List*> ListOf(const Value& value);

// `text` in quotes, control characters escaped, as Go's %q.
std::string QuotedText(std::string_view text);

// printf. Errors: InvalidArgument: an unknown verb, too many or too few values, a value of the
// wrong type.
StatusOr<std::string> FormatText(std::string_view format, Arguments values);
// Checks everything that does not need the values.
Status CheckFormat(std::string_view format, size_t values);

}  // namespace kgpu::gotemplate
