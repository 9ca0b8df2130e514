#include "src/node/choice/selectors.h"

#include <array>
#include <utility>

#include "src/node/config/node_config.h"
#include "src/node/config/tree_reader.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/located.h"

namespace kgpu::choice {
namespace {

using config::Node;

constexpr std::array<std::string_view, 2> kRuleKeys = {"config", "nodeSelector"};

Rule ReadRule(const Node& node) {
  Rule rule;
  bool has_config = false;
  bool has_selector = false;
  node.ForEachField(kRuleKeys, [&](std::string_view name, const Node& field) {
    if (name == "config") {
      has_config = true;
      config::Set(rule.config, field.String());
      if (field.is_string() && rule.config.empty()) {
        field.Error("is empty: name a configuration");
      }
    } else {
      has_selector = true;
      rule.nodes = ReadNodeSelector(field);
    }
  });
  if (node.is_map() && !has_config) {
    node.Error("config: missing: name a configuration");
  }
  if (node.is_map() && !has_selector) {
    node.Error("nodeSelector: missing: set matchLabels or matchExpressions; {{}} is every node");
  }
  return rule;
}

}  // namespace

StatusOr<std::vector<Rule>> ParseSelectors(std::string_view text, std::string_view file) {
  std::vector<Rule> rules;
  if (Trim(text).empty()) {
    return rules;
  }
  ASSIGN_OR_RETURN(const doc::Located document,
                   doc::ParseLocated(text, doc::Format::kYaml, file,
                                     doc::Limits{.bytes = config::kMaxConfigBytes}));
  if (document.root.is_null()) {
    return rules;
  }
  config::Problems problems(file);
  const Node root(document, problems);
  if (root.size() > kMaxSelectors) {
    root.Error("{} selectors exceed the limit of {}", root.size(), kMaxSelectors);
  } else {
    root.ForEachItem([&rules](const Node& item) { rules.push_back(ReadRule(item)); });
  }
  RETURN_IF_ERROR(problems.ToStatus());
  return rules;
}

}  // namespace kgpu::choice
