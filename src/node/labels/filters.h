// Which labels, annotations, taints and extended resources may reach the node, whoever asks for
// them. Plain values; the rules are those of Node Feature Discovery's master.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/node_claims.h"
#include "src/node/labels/pattern.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

struct Filters {
  // Every one must match the part of a label's key behind the slash.
  std::vector<Pattern> label_allow;
  // "vendor.io" alone, or "*.vendor.io", "*": all that end so.
  std::vector<std::string> denied_namespaces;
  // Taken all the same, also where Kubernetes reserves them.
  std::vector<std::string> extra_namespaces;
  bool labels = true;
  bool annotations = true;
  bool extended_resources = true;
  // Off as in NFD: a wrong taint keeps every pod away from a node.
  bool taints = false;
  // Labels that NodeFeature objects of others ask for.
  bool foreign_labels = true;

  bool operator==(const Filters&) const = default;
};

// OK when the node may carry it; else why not, beginning with the key. `value` is whole: not a
// reference. Errors: PermissionDenied (the configuration leaves it out), InvalidArgument (nobody
// would take it).
Status CheckLabel(const Filters& filters, std::string_view key, std::string_view value);
Status CheckAnnotation(std::string_view key, std::string_view value);
Status CheckExtendedResource(std::string_view name, std::string_view quantity);
Status CheckTaint(const Taint& taint);

}  // namespace kgpu::labels
