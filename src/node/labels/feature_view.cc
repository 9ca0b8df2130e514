#include "src/node/labels/feature_view.h"

#include <set>

namespace kgpu::labels {
namespace {

template <typename Map>
const typename Map::mapped_type* FindIn(const Map& first, const Map& second,
                                        const std::string& feature) {
  if (const auto found = first.find(feature); found != first.end()) {
    return &found->second;
  }
  const auto found = second.find(feature);
  return found == second.end() ? nullptr : &found->second;
}

// The map to add to, copied from the node's on the first call.
template <typename Map>
typename Map::mapped_type& Own(Map& more, const Map& node, const std::string& feature) {
  const auto [place, is_new] = more.try_emplace(feature);
  if (const auto found = node.find(feature); is_new && found != node.end()) {
    place->second = found->second;
  }
  return place->second;
}

}  // namespace

const features::Flags* FeatureView::FindFlags(const std::string& feature) const {
  return FindIn(more_.flags, node_.flags, feature);
}
const features::Attributes* FeatureView::FindAttributes(const std::string& feature) const {
  return FindIn(more_.attributes, node_.attributes, feature);
}
const features::Instances* FeatureView::FindInstances(const std::string& feature) const {
  return FindIn(more_.instances, node_.instances, feature);
}

bool FeatureView::Has(const std::string& feature) const {
  return FindFlags(feature) != nullptr || FindAttributes(feature) != nullptr ||
         FindInstances(feature) != nullptr;
}

void FeatureView::Add(const features::FeatureSet& more) {
  for (const auto& [feature, flags] : more.flags) {
    Own(more_.flags, node_.flags, feature).insert(flags.begin(), flags.end());
  }
  for (const auto& [feature, attributes] : more.attributes) {
    AddAttributes(feature, attributes);
  }
  for (const auto& [feature, instances] : more.instances) {
    features::Instances& own = Own(more_.instances, node_.instances, feature);
    own.insert(own.end(), instances.begin(), instances.end());
  }
}

void FeatureView::AddAttributes(const std::string& feature, const features::Attributes& more) {
  features::Attributes& own = Own(more_.attributes, node_.attributes, feature);
  for (const auto& [key, value] : more) {
    own.insert_or_assign(key, value);
  }
}

std::vector<std::string> FeatureView::Names() const {
  std::set<std::string> names;
  for (const features::FeatureSet* set : {&node_, &more_}) {
    for (const auto& [name, flags] : set->flags) {
      names.insert(name);
    }
    for (const auto& [name, attributes] : set->attributes) {
      names.insert(name);
    }
    for (const auto& [name, instances] : set->instances) {
      names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace kgpu::labels
