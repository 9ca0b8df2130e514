// Reads a rule from a document's tree. Reports errors at the nodes.
#pragma once

#include <cstddef>

#include "src/node/config/tree_reader.h"
#include "src/node/labels/rules.h"

namespace kgpu::labels {

// For one file or object. Limits the memory that all its rules use together.
class RuleReader {
 public:
  static constexpr size_t kMaxPatterns = 1'000;

  // `hints`, which may be null and must outlive the reader, receives the names that no source of
  // features has.
  explicit RuleReader(config::Problems* hints = nullptr) : hints_(hints) {}

  Rule Read(const config::Node& node);

 private:
  void ReadField(std::string_view name, const config::Node& field, Rule& rule);
  std::vector<FeatureTerm> ReadTerms(const config::Node& list);
  FeatureTerm ReadTerm(const config::Node& node);
  std::vector<KeyExpression> ReadExpressions(const config::Node& node);
  void ReadShortExpression(const config::Node& item, std::vector<KeyExpression>& expressions);
  std::optional<MatchExpression> ReadExpression(const config::Node& node);
  std::optional<MatchExpression> ReadWholeExpression(const config::Node& node);
  std::optional<MatchExpression> Make(const config::Node& node, Op op,
                                      std::vector<std::string> values, bool are_versions = false);

  std::optional<gotemplate::Template> ReadTemplate(const config::Node& node);

  void Hint(const config::Node& node, const std::string& text) const;
  void HintOnReferences(const config::Node& pairs) const;
  void HintOnTerm(const config::Node& node, const FeatureTerm& term) const;

  config::Problems* hints_;
  size_t patterns_ = 0;
  size_t parts_ = 0;  // of templates
};

}  // namespace kgpu::labels
