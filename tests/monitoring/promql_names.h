// The names in a PromQL expression, for checking that they exist. Knows enough of the language for
// carefully written rules and dashboards; it is no parser.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kgpu::monitoring {

struct PromqlNames {
  std::set<std::string> series{};
  std::set<std::string> labels{};
};

// From an expression, which may contain Grafana's variables ("$node", "[$__range]").
PromqlNames NamesOfExpression(std::string_view expression);

}  // namespace kgpu::monitoring
