// The functions that expressions can call.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "src/kube/cel/value.h"
#include "src/platform/base/status.h"

namespace kgpu::cel {

struct Function {
  std::string_view name;
  bool is_method = false;  // called as a.name(b): the first argument is `a`
  size_t arguments = 0;    // including `a`
  // Errors: InvalidArgument (as CEL fails), Unimplemented (kgpu does not know the result).
  StatusOr<Value> (*run)(std::span<const Value> arguments) = nullptr;
};

// Null if there is none.
const Function* FindFunction(std::string_view name, bool is_method, size_t arguments);

}  // namespace kgpu::cel
