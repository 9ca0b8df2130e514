// Splits a template's text into pieces: text to print, and actions as tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::gotemplate {

struct Token {
  enum class Kind : uint8_t {
    kWord,      // if, printf, true
    kField,     // ".name", text without the dot
    kDot,       // "." alone
    kVariable,  // "$x", text without the dollar
    kText,      // a string, without its quotes and escapes
    kNumber,
    kMark,  // ( ) | , := =
  };
  Kind kind = Kind::kMark;
  std::string text;
  int64_t number = 0;
  size_t offset = 0;
  bool is_glued = false;  // it follows the previous token without a blank
};

struct Piece {
  bool is_action = false;
  std::string_view text;      // of a text, with blanks trimmed by adjacent actions
  std::vector<Token> tokens;  // of an action; none for a comment
  size_t offset = 0;          // where it starts
};

// Errors: InvalidArgument with line and column.
StatusOr<std::vector<Piece>> Scan(std::string_view text);

// "line 2, column 5: …" as InvalidArgument.
Status ErrorAt(std::string_view text, size_t offset, std::string_view what);

}  // namespace kgpu::gotemplate
