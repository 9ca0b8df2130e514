// Matches one term of a rule against the features: whether and by which elements, or why not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/node/labels/feature_view.h"
#include "src/node/labels/rules.h"
#include "src/platform/gotemplate/value.h"

namespace kgpu::labels {

struct TermAnswer {
  bool is_met = false;
  // The matching elements, as templates see them: maps with a Name for flags, a Name and a Value
  // for attributes, both sorted by name; then instances with their attributes.
  gotemplate::Value::List elements;
  size_t work = 0;  // the cost; see MatchExpression::Work
};

// If `with_elements` is false, the answer has no elements. A term that needs more than `most_work`
// does not match.
TermAnswer MatchTerm(const FeatureTerm& term, const FeatureView& features, bool with_elements,
                     size_t most_work = SIZE_MAX);

// Why a term does not match: "pci.device: none matches all of vendor In 15b3 (2 of 12), …".
std::string WhyNot(const FeatureTerm& term, const FeatureView& features);

}  // namespace kgpu::labels
