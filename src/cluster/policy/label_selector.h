// A Kubernetes label selector: which objects it matches, and which labels it looks at.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kgpu::policy {

using LabelMap = std::map<std::string, std::string, std::less<>>;

enum class LabelOperator : uint8_t { kIn, kNotIn, kExists, kDoesNotExist };

struct LabelTerm {
  std::string key{};
  LabelOperator op = LabelOperator::kExists;
  std::vector<std::string> values{};
  bool operator==(const LabelTerm&) const = default;
};

// All of it must hold; an empty selector matches everything. Source: metav1.LabelSelector.
struct LabelSelector {
  LabelMap labels{};
  std::vector<LabelTerm> terms{};
  bool operator==(const LabelSelector&) const = default;

  bool Matches(const LabelMap& object) const;
  // Adds the keys whose values decide.
  void AddKeys(std::set<std::string, std::less<>>& keys) const;
};

}  // namespace kgpu::policy
