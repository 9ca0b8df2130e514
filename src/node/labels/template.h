// The templates of rules: a subset of Go's text/template with named functions
// (docs/reference/rules.md has the table). Anything else is an error when the template is loaded.
// Time, output and memory of an expansion are bounded, whatever the template does.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/template_tree.h"
#include "src/node/labels/template_value.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

inline constexpr size_t kMaxTemplateBytes = size_t{64} << 10;
inline constexpr size_t kMaxTemplateDepth = 32;
// Nodes, calls and values, half a kilobyte each; the limit also holds for all templates of a file.
inline constexpr size_t kMaxTemplateParts = 20'000;
// Limit for an expansion, and for every intermediate text.
inline constexpr size_t kMaxExpandedBytes = size_t{64} << 10;
// Limit for nodes visited, values created and kilobytes copied.
inline constexpr size_t kMaxTemplateSteps = 100'000;

// Immutable; copies share the tree. Thread: any.
class Template {
 public:
  // Errors: InvalidArgument, "line 2, column 5: unknown function \"lenght\": did you mean …".
  static StatusOr<Template> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  // Paths that it reads from the root of the data: {"pci", "device"} for ".pci.device".
  const std::vector<TemplatePath>& paths() const { return tree_->paths; }

  // Its memory use.
  size_t parts() const { return tree_->parts; }
  size_t patterns() const { return tree_->patterns; }

  // Errors: InvalidArgument with the position: a missing field, a value of the wrong
  // type; OutOfRange: over a limit. `steps`, if given, is increased by the steps
  // taken.
  StatusOr<std::string> Expand(const Value& data, size_t* steps = nullptr) const;
  // The lines "key=value" of an expansion; skips empty lines. A later key wins. Errors: as Expand;
  // InvalidArgument, a line without "=".
  StatusOr<std::map<std::string, std::string>> ExpandPairs(const Value& data,
                                                           size_t* steps = nullptr) const;

  // Compares the text.
  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  Template(std::string text, std::shared_ptr<const TemplateTree> tree)
      : text_(std::move(text)), tree_(std::move(tree)) {}

  std::string text_;
  std::shared_ptr<const TemplateTree> tree_;
};

}  // namespace kgpu::labels
