// Templates as rules use them: a subset of Go's text/template with named functions
// (docs/reference/rules.md has the table). What is outside of it is an error when the template is
// loaded. Time, output and memory of an expansion are bounded whatever the template says.
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
// Nodes, calls and values, which take half a kilobyte each; also of all templates of a file.
inline constexpr size_t kMaxTemplateParts = 20'000;
// Of an expansion, and of every text on the way.
inline constexpr size_t kMaxExpandedBytes = size_t{64} << 10;
// Nodes visited, values made, and kilobytes copied.
inline constexpr size_t kMaxTemplateSteps = 100'000;

// Immutable; copies share the tree. Thread: any.
class Template {
 public:
  // Errors: InvalidArgument, "line 2, column 5: unknown function \"lenght\": did you mean …".
  static StatusOr<Template> Parse(std::string_view text);

  const std::string& text() const { return text_; }
  // What it takes of the data as a whole: {"pci", "device"} for ".pci.device".
  const std::vector<TemplatePath>& paths() const { return tree_->paths; }

  // What it keeps in memory.
  size_t parts() const { return tree_->parts; }
  size_t patterns() const { return tree_->patterns; }

  // Errors: InvalidArgument with the place: a field that is not there, a value of the wrong kind;
  // OutOfRange: past a limit.
  // `steps`, when given, grows by what it took.
  StatusOr<std::string> Expand(const Value& data, size_t* steps = nullptr) const;
  // The lines "key=value" of an expansion; empty lines are none. A later key wins.
  // Errors: as Expand; InvalidArgument, a line without "=".
  StatusOr<std::map<std::string, std::string>> ExpandPairs(const Value& data,
                                                           size_t* steps = nullptr) const;

  // By text.
  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  Template(std::string text, std::shared_ptr<const TemplateTree> tree)
      : text_(std::move(text)), tree_(std::move(tree)) {}

  std::string text_;
  std::shared_ptr<const TemplateTree> tree_;
};

}  // namespace kgpu::labels
