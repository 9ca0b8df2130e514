// The features that rules see: those of the node, and beside them what feature files, NodeFeature
// objects of others and earlier rules add. Nothing of the node's is copied but what is added to.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/features/feature_set.h"

namespace kgpu::labels {

// `node` must outlive it.
class FeatureView {
 public:
  explicit FeatureView(const features::FeatureSet& node) : node_(node) {}

  // Null when there is none of this kind. Names are in lower case.
  const features::Flags* FindFlags(const std::string& feature) const;
  const features::Attributes* FindAttributes(const std::string& feature) const;
  const features::Instances* FindInstances(const std::string& feature) const;
  bool Has(const std::string& feature) const;

  // Flags and instances come to those there are; attributes replace those of their name.
  void Add(const features::FeatureSet& more);
  // The feature is there afterwards, also when nothing is added.
  void AddAttributes(const std::string& feature, const features::Attributes& more);

  // Of all features, sorted.
  std::vector<std::string> Names() const;

 private:
  const features::FeatureSet& node_;
  features::FeatureSet more_;  // stands before node_, whole for each feature it has
};

}  // namespace kgpu::labels
