// Looks things up in a feature set.
#pragma once

#include <map>
#include <string>

#include "src/host/features/feature_set.h"

namespace kgpu::features {

// Missing features are empty. The feature set must outlive it.
class Finder {
 public:
  explicit Finder(const FeatureSet& features) : features_(features) {}

  const Flags& flags(const char* name) const {
    const Flags* found = Find(features_.flags, name);
    return found != nullptr ? *found : no_flags_;
  }
  const Attributes& attributes(const char* name) const {
    const Attributes* found = Find(features_.attributes, name);
    return found != nullptr ? *found : no_attributes_;
  }
  const Instances& instances(const char* name) const {
    const Instances* found = Find(features_.instances, name);
    return found != nullptr ? *found : no_instances_;
  }
  bool IsTrue(const char* feature, const char* attribute) const {
    const Attributes& all = attributes(feature);
    const auto found = all.find(attribute);
    return found != all.end() && found->second == "true";
  }

 private:
  template <typename T>
  static const T* Find(const std::map<std::string, T>& all, const char* name) {
    const auto found = all.find(name);
    return found == all.end() ? nullptr : &found->second;
  }

  const FeatureSet& features_;
  Flags no_flags_;
  Attributes no_attributes_;
  Instances no_instances_;
};

}  // namespace kgpu::features
