// Go's text/template without define, template and block, with the functions of a Language. Anything
// else is an error when the template is loaded. Time, output and memory of an expansion are
// bounded, whatever the template does.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/gotemplate/functions.h"
#include "src/platform/gotemplate/tree.h"
#include "src/platform/gotemplate/value.h"

namespace kgpu::gotemplate {

// Immutable; copies share the tree. Thread: any.
class Template {
 public:
  // `language` must outlive it. Errors: InvalidArgument, "line 2, column 5: unknown function
  // \"lenght\": did you mean …".
  static StatusOr<Template> Parse(std::string_view text, const Language& language);

  const std::string& text() const { return text_; }
  // Paths that it reads from the root of the data: {"pci", "device"} for ".pci.device".
  const std::vector<Path>& paths() const { return tree_->paths; }

  // Its memory use.
  size_t parts() const { return tree_->parts; }
  size_t patterns() const { return tree_->patterns; }

  // Errors: InvalidArgument with the position: a missing field, a value of the wrong type;
  // OutOfRange: over a limit; kEnds. `steps`, if given, is increased by the steps taken.
  StatusOr<std::string> Expand(const Value& data, size_t* steps = nullptr) const;

  // Compares the text.
  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  Template(std::string text, std::shared_ptr<const Tree> tree)
      : text_(std::move(text)), tree_(std::move(tree)) {}

  std::string text_;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace kgpu::gotemplate
