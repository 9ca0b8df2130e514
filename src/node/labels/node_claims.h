// What a node should carry because of us: computed, compared and printed here, applied by
// src/node/object.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kgpu::labels {

struct Taint {
  std::string key;
  std::string value;   // may be empty
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
  auto operator<=>(const Taint&) const = default;
};

// As in kubectl: "key=value:effect", "key:effect".
std::string ToString(const Taint& taint);

// All keys are full ("feature.node.kubernetes.io/pci-0302_10de.present"), all values checked.
struct NodeClaims {
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::map<std::string, std::string> extended_resources{};  // name → quantity ("8", "93Mi")
  std::vector<Taint> taints{};                              // sorted by key, then effect
  bool operator==(const NodeClaims&) const = default;
};

}  // namespace kgpu::labels
