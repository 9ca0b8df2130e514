// One evaluation of a rule on the features.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/feature_view.h"
#include "src/node/labels/rules.h"
#include "src/platform/base/status.h"
#include "src/platform/gotemplate/value.h"

namespace kgpu::labels {

// `rule` and `features` must outlive it.
class RuleRun {
 public:
  RuleRun(const Rule& rule, const FeatureView& features, size_t most_work)
      : rule_(rule),
        features_(features),
        needs_elements_(rule.labels_template || rule.vars_template),
        most_work_(most_work) {}

  // Whether it matches; if so, labels() and vars() are set. Errors: those of its templates;
  // OutOfRange: more work than allowed.
  StatusOr<bool> Match();

  // As the rule and its templates write them.
  const std::map<std::string, std::string>& labels() const { return labels_; }
  const std::map<std::string, std::string>& vars() const { return vars_; }
  // The cost so far, in comparisons of short texts.
  size_t work() const { return work_; }

  // Why a rule does not match.
  std::string Why() const;

 private:
  StatusOr<bool> MatchAny(std::vector<gotemplate::Value>& data);
  StatusOr<bool> MatchTerms(const std::vector<FeatureTerm>& terms,
                            std::vector<gotemplate::Value>& data);
  Status Spend(size_t work);
  Status Expand(std::string_view field, const std::optional<gotemplate::Template>& source,
                const gotemplate::Value& data, std::map<std::string, std::string>& into);
  std::string WhyTerms(const std::vector<FeatureTerm>& terms) const;

  const Rule& rule_;
  const FeatureView& features_;
  bool needs_elements_;  // by a template
  size_t most_work_;
  size_t work_ = 0;
  std::map<std::string, std::string> labels_;
  std::map<std::string, std::string> vars_;
};

}  // namespace kgpu::labels
