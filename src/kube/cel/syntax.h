// The text of an expression as a tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/cel/value.h"
#include "src/platform/base/status.h"

namespace kgpu::cel {

struct Function;

enum class Op : uint8_t {
  kLiteral,
  kName,
  kList,
  kSelect,  // a.name, a["name"], a[0]: the second child is the key
  kMaybe,   // a.?name, a[?"name"]
  kHas,     // has(a.name)
  kNot,
  kMinus,
  kAnd,  // of all children
  kOr,
  kChoice,  // a ? b : c
  kOperator,
  kCall,
  kBind,    // cel.bind(name, a, b)
  kExists,  // a.exists(name, b)
  kAll,
};

struct Node {
  Op op = Op::kLiteral;
  size_t begin = 0;  // in the text
  size_t end = 0;
  std::string name{};  // of a variable, or the operator
  Value literal{};
  const Function* function = nullptr;
  std::vector<Node> children{};
  size_t depth = 1;
};

// Errors: InvalidArgument (a syntax error), Unimplemented (CEL, or Kubernetes' CEL, has it and kgpu
// does not), both with the column; OutOfRange (too large).
StatusOr<Node> ParseExpression(std::string_view text);

}  // namespace kgpu::cel
