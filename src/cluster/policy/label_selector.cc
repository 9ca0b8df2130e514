#include "src/cluster/policy/label_selector.h"

#include <algorithm>

namespace kgpu::policy {
namespace {

bool Holds(const LabelTerm& term, const LabelMap& object) {
  const auto found = object.find(term.key);
  const bool is_there = found != object.end();
  const bool is_listed =
      is_there && std::ranges::find(term.values, found->second) != term.values.end();
  switch (term.op) {
    case LabelOperator::kIn:
      return is_listed;
    case LabelOperator::kNotIn:
      return !is_listed;
    case LabelOperator::kExists:
      return is_there;
    case LabelOperator::kDoesNotExist:
      return !is_there;
  }
  return false;
}

}  // namespace

bool LabelSelector::Matches(const LabelMap& object) const {
  return std::ranges::all_of(labels,
                             [&](const auto& label) {
                               const auto found = object.find(label.first);
                               return found != object.end() && found->second == label.second;
                             }) &&
         std::ranges::all_of(terms, [&](const LabelTerm& term) { return Holds(term, object); });
}

void LabelSelector::AddKeys(std::set<std::string, std::less<>>& keys) const {
  for (const auto& [key, value] : labels) {
    keys.insert(key);
  }
  for (const LabelTerm& term : terms) {
    keys.insert(term.key);
  }
}

}  // namespace kgpu::policy
