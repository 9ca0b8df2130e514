// Parses one action of a template: its tokens, and the expressions they form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/labels/template_scan.h"
#include "src/node/labels/template_tree.h"
#include "src/platform/base/status.h"

namespace kgpu::labels {

// The parser's state at its current position.
struct TemplateScope {
  explicit TemplateScope(std::string_view text) : lines(text) {}

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
  TemplateLines lines;
  std::vector<TemplatePath> paths;  // read from the root so far

  size_t Declare(std::string name);
};

// Reads the tokens one by one. `text`, `piece` and `scope` must outlive it.
class ActionParser {
 public:
  ActionParser(std::string_view text, const TemplatePiece& piece, TemplateScope& scope)
      : text_(text), piece_(piece), scope_(scope) {}

  bool AtEnd() const { return next_ >= piece_.tokens.size(); }
  // Precondition of both: not at the end.
  const TemplateToken& Peek() const { return piece_.tokens[next_]; }
  TemplateToken Take() { return piece_.tokens[next_++]; }
  bool IsWord() const { return !AtEnd() && Peek().kind == TemplateToken::Kind::kWord; }
  bool IsVariable() const { return !AtEnd() && Peek().kind == TemplateToken::Kind::kVariable; }
  bool IsMark(std::string_view mark) const { return IsMarkAt(next_, mark); }
  // Tests the token after the next one.
  bool IsMarkBehind(std::string_view mark) const { return IsMarkAt(next_ + 1, mark); }
  size_t next() const { return next_; }
  void BackTo(size_t token) { next_ = token; }

  // The offset of the next token, or of the action.
  size_t At() const { return AtEnd() ? piece_.offset : Peek().offset; }
  Status Error(size_t offset, std::string_view what) const {
    return TemplateError(text_, offset, what);
  }
  Status ExpectEnd() const;
  // Counts one more node, call or value.
  Status CountPart();
  // Enters a block or bracket; undone by `--scope.depth`.
  Status Descend();

  Status ParsePipeline(TemplateExpression& result);
  StatusOr<size_t> SlotOf(const TemplateToken& variable) const;

 private:
  bool IsMarkAt(size_t token, std::string_view mark) const;
  TemplatePlace PlaceOf(size_t offset) const { return scope_.lines.At(offset); }

  Status ParseCommand(TemplateExpression& result, std::optional<TemplateExpression>& piped);
  Status ParseOperand(TemplateExpression& result);
  Status ParsePrimary(TemplateExpression& result, bool& is_whole_data);
  Status ParseConstant(TemplateExpression& result);
  Status ParseBrackets(TemplateExpression& result);
  Status CheckCall(TemplateExpression& call, size_t offset) const;
  Status CompilePattern(TemplateExpression& call, size_t offset) const;
  Status UnknownFunction(const TemplateToken& token) const;

  std::string_view text_;
  const TemplatePiece& piece_;
  TemplateScope& scope_;
  size_t next_ = 0;
};

}  // namespace kgpu::labels
