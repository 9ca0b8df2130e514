// Which nodes a rule is for, by their labels: matchLabels and matchExpressions, as in the
// Kubernetes API. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/node/config/tree_reader.h"

namespace kgpu::choice {

using Labels = std::map<std::string, std::string>;

enum class Operator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct Expression {
  std::string key{};
  Operator op = Operator::kIn;
  std::vector<std::string> values{};  // of kIn and kNotIn
  int64_t bound = 0;                  // of kGt and kLt
  bool operator==(const Expression&) const = default;
};

// All parts must match (and); without parts, every node does.
struct NodeSelector {
  Labels labels{};
  std::vector<Expression> expressions{};
  bool operator==(const NodeSelector&) const = default;
};

// A missing label matches kNotIn and kDoesNotExist only; kGt and kLt need an integer. Source:
// labels.Requirement of k8s.io/apimachinery.
bool Matches(const NodeSelector& selector, const Labels& labels);

// Reports errors to the node's problems: unknown keys and operators, keys and values that no label
// can have, operators with the wrong number of values.
NodeSelector ReadNodeSelector(const config::Node& node);

}  // namespace kgpu::choice
