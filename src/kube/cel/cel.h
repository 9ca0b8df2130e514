// The part of CEL, the Common Expression Language, that selectors of devices use: the variable
// `device`, operators, has(), `.?`, cel.bind, exists, all, and functions of texts, quantities and
// versions, with CEL's rules for errors. Refuses everything else instead of guessing. Types are
// checked when an expression runs, since the API server has compiled what it stores.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/cel/value.h"
#include "src/platform/base/status.h"

namespace kgpu::cel {

struct Node;

// Immutable; copies share the tree. Thread: any.
class Program {
 public:
  // Errors: InvalidArgument (a syntax error), Unimplemented (kgpu cannot evaluate it), with the
  // column; OutOfRange (more than 10 KiB, or nested too deeply).
  static StatusOr<Program> Compile(std::string_view text);

  // `device` is a map with driver, attributes and capacity. Errors: InvalidArgument (the expression
  // fails, as it does in the scheduler), Unimplemented (kgpu does not know the result).
  StatusOr<bool> Matches(const Value& device) const;

  // The values that `device` has for the attributes and capacities in the expression:
  // `device.driver is "gpu.nvidia.com"`. Missing ones are left out.
  std::vector<std::string> Readings(const Value& device) const;

  const std::string& text() const { return text_; }

 private:
  Program(std::string text, std::shared_ptr<const Node> root)
      : text_(std::move(text)), root_(std::move(root)) {}

  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace kgpu::cel
