// Splits the text of an expression.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/kube/cel/value.h"
#include "src/platform/base/status.h"

namespace kgpu::cel {

struct Token {
  enum class Kind : uint8_t { kName, kLiteral, kSign, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text{};
  Value literal{};
  size_t at = 0;  // in the text
};

// Ends with a token of kind kEnd. Errors: InvalidArgument, Unimplemented, with the column.
StatusOr<std::vector<Token>> SplitTokens(std::string_view text);

}  // namespace kgpu::cel
