// A template as a tree: built by template_parse.cc, walked by template_expand.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/pattern.h"
#include "src/node/labels/template_value.h"

namespace kgpu::labels {

struct Function;

// Counted from 1, in bytes of the template's text.
struct TemplatePlace {
  size_t line = 1;
  size_t column = 1;
  bool operator==(const TemplatePlace&) const = default;
};

// The position of `offset`.
TemplatePlace PlaceAt(std::string_view text, size_t offset);

// The same for many offsets in one text.
class TemplateLines {
 public:
  explicit TemplateLines(std::string_view text);
  TemplatePlace At(size_t offset) const;

 private:
  std::vector<size_t> begins_;  // offsets at which lines begin
};

struct TemplateExpression {
  enum class Kind : uint8_t {
    kLiteral,
    kDot,       // the current value of the innermost range or with
    kVariable,  // slot; slot 0 is "$", the data as a whole
    kCall,
  };
  Kind kind = Kind::kLiteral;
  TemplatePlace place;
  Value literal;
  size_t slot = 0;
  const Function* function = nullptr;
  std::vector<TemplateExpression> arguments;
  std::optional<Pattern> pattern;   // for a function that takes a regular expression
  std::vector<std::string> fields;  // taken of the value, one after the other: ".a.b"
};

struct TemplateNode {
  enum class Kind : uint8_t { kText, kPrint, kSet, kIf, kRange, kWith, kBreak, kContinue };
  Kind kind = Kind::kText;
  TemplatePlace place;
  std::string text;
  TemplateExpression expression;
  std::optional<size_t> key;    // slot of the first of range's two variables
  std::optional<size_t> value;  // slot to set
  std::vector<TemplateNode> body;
  std::vector<TemplateNode> otherwise;
};

// A path that starts at the root of the data.
struct TemplatePath {
  TemplatePlace place;
  std::vector<std::string> fields;
  bool operator==(const TemplatePath&) const = default;
};

struct TemplateTree {
  std::vector<TemplateNode> nodes;
  size_t slots = 1;
  size_t parts = 0;     // nodes, calls and values
  size_t patterns = 0;  // regular expressions
  std::vector<TemplatePath> paths;
};

}  // namespace kgpu::labels
