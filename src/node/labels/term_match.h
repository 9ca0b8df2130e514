// One term of a rule against the features: whether it is met, by which elements, and if not, why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/node/labels/feature_view.h"
#include "src/node/labels/rules.h"
#include "src/node/labels/template_value.h"

namespace kgpu::labels {

struct TermAnswer {
  bool is_met = false;
  // What met it, as templates see it: maps with a Name for flags, a Name and a Value for
  // attributes, both sorted by name; behind them instances with their attributes.
  Value::List elements;
  size_t work = 0;  // that it took; see MatchExpression::Work
};

// With `with_elements` false the answer has none: nobody will look at them. One that takes more
// than `most_work` is not met.
TermAnswer MatchTerm(const FeatureTerm& term, const FeatureView& features, bool with_elements,
                     size_t most_work = SIZE_MAX);

// Why a term is not met: "pci.device: none matches all of vendor In 15b3 (2 of 12), …".
std::string WhyNot(const FeatureTerm& term, const FeatureView& features);

}  // namespace kgpu::labels
