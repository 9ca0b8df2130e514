// The features that rules see: those of the node, plus those from feature files, other NodeFeature
// objects and earlier rules. Copies only those features of the node that get additions.
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

  // Null if there is none of this kind. Names are in lower case.
  const features::Flags* FindFlags(const std::string& feature) const;
  const features::Attributes* FindAttributes(const std::string& feature) const;
  const features::Instances* FindInstances(const std::string& feature) const;
  bool Has(const std::string& feature) const;

  // Appends flags and instances; replaces attributes of the same name.
  void Add(const features::FeatureSet& more);
  // The feature exists afterwards, even if nothing is added.
  void AddAttributes(const std::string& feature, const features::Attributes& more);

  // All features, sorted.
  std::vector<std::string> Names() const;

 private:
  const features::FeatureSet& node_;
  features::FeatureSet more_;  // precedes node_; complete for each feature it has
};

}  // namespace kgpu::labels
