// Why a pod has no GPU: table entries, and findings.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/report/finding.h"

namespace kgpu::explain {

// In report order. An error keeps the pod from running, or from its GPU; an info does not. `extra`:
// whether it is about a node or the pod.
std::span<const report::Kind> ReasonKinds();

using Reasons = std::vector<report::Finding>;

// A finding with an id of the table.
report::Finding Found(std::string_view id, std::string evidence, std::vector<std::string> commands);

inline bool IsBlocking(const report::Finding& reason) {
  return reason.severity == report::Severity::kError;
}

// The table of docs/reference/explain.md.
std::string ReasonsMarkdown();

}  // namespace kgpu::explain
