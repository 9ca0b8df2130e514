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
    kField,     // .Values.a.b: `names` are Values, a, b
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
  enum class Kind : uint8_t { kText, kValue, kIf };
  Kind kind = Kind::kText;
  std::string_view text{};       // kText; borrowed from the template
  Expression value{};            // kValue
  std::vector<Branch> branches;  // kIf; without {}, for which clang needs the whole type
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
