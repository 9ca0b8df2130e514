// The tree of a template. Private to this module.
#pragma once

#include <boost/json/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::chart {

// One word of a pipeline, or a call in parentheses.
struct Expression {
  enum class Kind : uint8_t {
    kConstant,  // "text", 4, true
    kField,     // .Values.a.b: `names` are Values, a, b; of $name.a they are $name, a
    kCall,      // a function, or .Files.Get, with its arguments
  };
  Kind kind = Kind::kConstant;
  size_t at = 0;  // offset in the text
  boost::json::value constant{};
  std::vector<std::string> names{};
  std::string function{};
  std::vector<Expression> arguments{};
};

struct Branch;

struct Node {
  enum class Kind : uint8_t { kText, kValue, kIf, kRange };
  Kind kind = Kind::kText;
  std::string_view text{};               // kText; borrowed from the template
  Expression value{};                    // kValue; kRange: the list or map
  std::vector<std::string> variables{};  // kRange: of the key or index, and of the entry
  // kIf; kRange has one. Without {}, for which clang needs the whole type.
  std::vector<Branch> branches;
};

struct Branch {
  bool is_else = false;  // without a condition
  Expression condition{};
  std::vector<Node> nodes{};
};

// "agent.yaml:3:7: ".
std::string Where(std::string_view text, std::string_view name, size_t at);

// Borrows `text`. Errors: InvalidArgument.
StatusOr<std::vector<Node>> ParseTemplate(std::string_view text, std::string_view name);

}  // namespace kgpu::chart
