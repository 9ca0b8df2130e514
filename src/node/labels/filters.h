// Which labels, annotations, taints and extended resources may reach the node, whoever claims them.
// Plain values; the rules are those of Node Feature Discovery's master.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/node_claims.h"
#include "src/platform/base/status.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::labels {

struct Filters {
  // Each must match the part of a label's key after the slash.
  std::vector<Pattern> label_allow;
  // "vendor.io" alone, or "*.vendor.io", "*": all with that suffix.
  std::vector<std::string> denied_namespaces;
  // Allowed nevertheless, even if Kubernetes reserves them.
  std::vector<std::string> extra_namespaces;
  bool labels = true;
  bool annotations = true;
  bool extended_resources = true;
  // Off by default as in NFD: a wrong taint keeps every pod away from a node.
  bool taints = false;
  // Labels from NodeFeature objects of others.
  bool foreign_labels = true;

  bool operator==(const Filters&) const = default;
};

// OK if the node may carry it; else the reason, starting with the key. `value` is resolved: not a
// reference. Errors: PermissionDenied (the configuration filters it out), InvalidArgument (invalid
// in Kubernetes).
Status CheckLabel(const Filters& filters, std::string_view key, std::string_view value);
Status CheckAnnotation(std::string_view key, std::string_view value);
Status CheckExtendedResource(std::string_view name, std::string_view quantity);
Status CheckTaint(const Taint& taint);

}  // namespace kgpu::labels
