// selectors.yaml: which configuration the nodes with certain labels run. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/node/choice/node_selector.h"
#include "src/platform/base/status.h"

namespace kgpu::choice {

// The key of a ConfigMap, beside its configurations.
inline constexpr std::string_view kSelectorsKey = "selectors.yaml";
inline constexpr size_t kMaxSelectors = 1'000;

struct Rule {
  std::string config{};  // the name of a configuration
  NodeSelector nodes{};
  bool operator==(const Rule&) const = default;
};

// A list of {config, nodeSelector}; the first that matches a node counts. An empty nodeSelector
// matches every node, a missing one is an error. Errors: InvalidArgument "file:line:column: field:
// value: fix", all of them, one per line.
StatusOr<std::vector<Rule>> ParseSelectors(std::string_view text, std::string_view file);

}  // namespace kgpu::choice
