// The scheduler's rules for labels and taints. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/facts.h"

namespace kgpu::explain {

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// "nvidia.com/gpu=present:NoSchedule".
std::string TaintText(const Taint& taint);

// Unknown operators never match, as in the scheduler.
bool Holds(const Requirement& requirement, const Texts& labels);
// A term without requirements matches nothing.
bool Matches(const SelectorTerm& term, const Node& node);
bool MatchesAny(const std::vector<SelectorTerm>& terms, const Node& node);

// "nvidia.com/gpu.product In [NVIDIA-A100]".
std::string RequirementText(const Requirement& requirement);
// The requirements of `term` that `node` does not meet.
std::vector<Requirement> Unmet(const SelectorTerm& term, const Node& node);

// Values that nodes have for `key`, those closest to one of `wanted` first; at most five.
std::vector<std::string> ValuesOf(const std::vector<Node>& nodes, std::string_view key,
                                  const std::vector<std::string>& wanted);
// The nodes' key that is closest to `key`; empty: none is close.
std::string KeyLike(const std::vector<Node>& nodes, std::string_view key);

}  // namespace kgpu::explain
