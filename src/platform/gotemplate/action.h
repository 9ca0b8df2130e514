// Parses one action of a template: its tokens, and the expressions they form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/gotemplate/functions.h"
#include "src/platform/gotemplate/scan.h"
#include "src/platform/gotemplate/tree.h"

namespace kgpu::gotemplate {

// The parser's state at its current position.
struct Scope {
  Scope(std::string_view text, const Language& spoken) : language(spoken), lines(text) {}

  const Language& language;

  struct Variable {
    std::string name;
    size_t slot = 0;
  };
  std::vector<Variable> variables = {{"", 0}};  // the innermost last; "$" is the first
  size_t slots = 1;
  size_t parts = 0;
  size_t patterns = 0;
  size_t depth = 0;  // of blocks and brackets
  bool dot_is_root = true;
  Lines lines;
  std::vector<Path> paths;  // read from the root so far

  size_t Declare(std::string name);
};

// Reads the tokens one by one. `text`, `piece` and `scope` must outlive it.
class ActionParser {
 public:
  ActionParser(std::string_view text, const Piece& piece, Scope& scope)
      : text_(text), piece_(piece), scope_(scope) {}

  bool AtEnd() const { return next_ >= piece_.tokens.size(); }
  // Precondition of both: not at the end.
  const Token& Peek() const { return piece_.tokens[next_]; }
  Token Take() { return piece_.tokens[next_++]; }
  bool IsWord() const { return !AtEnd() && Peek().kind == Token::Kind::kWord; }
  bool IsVariable() const { return !AtEnd() && Peek().kind == Token::Kind::kVariable; }
  bool IsMark(std::string_view mark) const { return IsMarkAt(next_, mark); }
  // Tests the token after the next one.
  bool IsMarkBehind(std::string_view mark) const { return IsMarkAt(next_ + 1, mark); }
  size_t next() const { return next_; }
  void BackTo(size_t token) { next_ = token; }

  // The offset of the next token, or of the action.
  size_t At() const { return AtEnd() ? piece_.offset : Peek().offset; }
  Status Error(size_t offset, std::string_view what) const { return ErrorAt(text_, offset, what); }
  Status ExpectEnd() const;
  // Counts one more node, call or value.
  Status CountPart();
  // Enters a block or bracket; undone by `--scope.depth`.
  Status Descend();

  Status ParsePipeline(Expression& result);
  StatusOr<size_t> SlotOf(const Token& variable) const;

 private:
  bool IsMarkAt(size_t token, std::string_view mark) const;
  Place PlaceOf(size_t offset) const { return scope_.lines.At(offset); }

  Status ParseCommand(Expression& result, std::optional<Expression>& piped);
  Status ExpectEndOfCommand() const;
  bool TakeMethod(Expression& result) const;
  Status ParseOperand(Expression& result);
  Status ParsePrimary(Expression& result, bool& is_whole_data);
  Status ParseConstant(Expression& result);
  Status ParseBrackets(Expression& result);
  Status CheckCall(Expression& call, size_t offset) const;
  Status CompilePattern(Expression& call, size_t offset) const;
  Status UnknownFunction(const Token& token) const;

  std::string_view text_;
  const Piece& piece_;
  Scope& scope_;
  size_t next_ = 0;
};

}  // namespace kgpu::gotemplate
