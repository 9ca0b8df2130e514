// A template as a tree: built by template_parse.cc, walked by template_expand.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/gotemplate/value.h"
#include "src/platform/pattern/pattern.h"

namespace kgpu::gotemplate {

struct Function;
struct Language;

// Counted from 1, in bytes of the template's text.
struct Place {
  size_t line = 1;
  size_t column = 1;
  bool operator==(const Place&) const = default;
};

// The position of `offset`.
Place PlaceAt(std::string_view text, size_t offset);

// The same for many offsets in one text.
class Lines {
 public:
  explicit Lines(std::string_view text);
  Place At(size_t offset) const;

 private:
  std::vector<size_t> begins_;  // offsets at which lines begin
};

struct Expression {
  enum class Kind : uint8_t {
    kLiteral,
    kDot,       // the current value of the innermost range or with
    kVariable,  // slot; slot 0 is "$", the data as a whole
    kCall,
  };
  Kind kind = Kind::kLiteral;
  Place place;
  Value literal;
  size_t slot = 0;
  const Function* function = nullptr;
  std::vector<Expression> arguments;
  std::optional<Pattern> pattern;   // for a function that takes a regular expression
  std::vector<std::string> fields;  // taken of the value, one after the other: ".a.b"
};

struct Node {
  enum class Kind : uint8_t { kText, kPrint, kSet, kIf, kRange, kWith, kBreak, kContinue };
  Kind kind = Kind::kText;
  Place place;
  std::string text;
  Expression expression;
  std::optional<size_t> key;    // slot of the first of range's two variables
  std::optional<size_t> value;  // slot to set
  std::vector<Node> body;
  std::vector<Node> otherwise;
};

// A path that starts at the root of the data.
struct Path {
  Place place;
  std::vector<std::string> fields;
  bool operator==(const Path&) const = default;
};

struct Tree {
  const Language* language = nullptr;
  std::vector<Node> nodes;
  size_t slots = 1;
  size_t parts = 0;     // nodes, calls and values
  size_t patterns = 0;  // regular expressions
  std::vector<Path> paths;
};

}  // namespace kgpu::gotemplate
