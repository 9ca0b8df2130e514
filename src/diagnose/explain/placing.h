// The scheduler's rules about labels and taints. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/facts.h"

namespace kgpu::explain {

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// "nvidia.com/gpu=present:NoSchedule".
std::string TaintText(const Taint& taint);

// Unknown operators hold for nothing, as there.
bool Holds(const Requirement& requirement, const Texts& labels);
// A term without a line matches nothing.
bool Matches(const SelectorTerm& term, const Node& node);
bool MatchesAny(const std::vector<SelectorTerm>& terms, const Node& node);

// "nvidia.com/gpu.product In [NVIDIA-A100]".
std::string RequirementText(const Requirement& requirement);
// The lines of `term` that do not hold on `node`.
std::vector<Requirement> Unmet(const SelectorTerm& term, const Node& node);

// What nodes have for `key`, most like one of `wanted` first; at most five.
std::vector<std::string> ValuesOf(const std::vector<Node>& nodes, std::string_view key,
                                  const std::vector<std::string>& wanted);
// The key that nodes have and that is most like `key`; empty: none is.
std::string KeyLike(const std::vector<Node>& nodes, std::string_view key);

}  // namespace kgpu::explain
