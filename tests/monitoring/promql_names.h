// The names in a PromQL expression, for checking that what is asked for exists. Knows enough of the
// language for rules and dashboards that were written with care; it is no parser.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kgpu::monitoring {

struct PromqlNames {
  std::set<std::string> series{};
  std::set<std::string> labels{};
};

// Of an expression, in which Grafana's variables ("$node", "[$__range]") may stand.
PromqlNames NamesOfExpression(std::string_view expression);

}  // namespace kgpu::monitoring
