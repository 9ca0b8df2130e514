// One term of a rule against the features: whether it is met, by which elements, and if not, why.
#pragma once

#include <string>
#include <vector>

#include "src/features/feature_set.h"
#include "src/labels/feature_view.h"
#include "src/labels/rules.h"

namespace kgpu::labels {

// What met a term, as templates see it: flags have a Name, attributes a Name and a Value, instances
// their attributes.
using Elements = features::Instances;

struct TermAnswer {
  bool is_met = false;
  Elements elements;  // sorted by name; instances behind
};

// With `with_elements` false the answer has none: nobody will look at them.
TermAnswer MatchTerm(const FeatureTerm& term, const FeatureView& features, bool with_elements);

// Why a term is not met: "pci.device: none of 12 meets all of: vendor In 15b3 (2 do), …".
std::string WhyNot(const FeatureTerm& term, const FeatureView& features);

}  // namespace kgpu::labels
