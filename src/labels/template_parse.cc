// Tokens to tree. Recursion is bounded by kMaxTemplateDepth.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/base/status_macros.h"
#include "src/base/strings.h"
#include "src/labels/template.h"
#include "src/labels/template_functions.h"
#include "src/labels/template_scan.h"

namespace kgpu::labels {
namespace {

using Token = TemplateToken;
using Expression = TemplateExpression;
using Node = TemplateNode;

constexpr std::array<std::string_view, 8> kBlockWords = {"if",  "range", "with",     "else",
                                                         "end", "break", "continue", ""};
constexpr std::array<std::string_view, 3> kForeignWords = {"define", "template", "block"};

// Where a name is known.
struct Variable {
  std::string name;
  size_t slot = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  StatusOr<TemplateTree> Parse() {
    ASSIGN_OR_RETURN(pieces_, ScanTemplate(text_));
    variables_.push_back({"", 0});
    RETURN_IF_ERROR(ParseNodes(tree_.nodes));
    if (piece_ < pieces_.size()) {
      return Error(pieces_[piece_].offset, "there is nothing open that this could end");
    }
    return std::move(tree_);
  }

 private:
  Status Error(size_t offset, std::string_view what) const {
    return TemplateError(text_, offset, what);
  }

  // The word an action begins with when it is one of the language's.
  std::string_view BlockWord() const {
    const std::vector<Token>& tokens = pieces_[piece_].tokens;
    if (tokens.empty() || tokens.front().kind != Token::Kind::kWord) {
      return "";
    }
    return *std::ranges::find_if(kBlockWords, [&](std::string_view word) {
      return word.empty() || word == tokens.front().text;
    });
  }

  // Up to the end of the text, or to an else or end, which stays.
  Status ParseNodes(std::vector<Node>& nodes) {
    for (; piece_ < pieces_.size(); ++piece_) {
      const TemplatePiece& piece = pieces_[piece_];
      if (!piece.is_action) {
        nodes.emplace_back();
        nodes.back().text = std::string(piece.text);
        continue;
      }
      const std::string_view word = BlockWord();
      if (word == "else" || word == "end") {
        return OkStatus();
      }
      nodes.emplace_back();
      nodes.back().place = PlaceAt(text_, piece.offset);
      token_ = 0;
      if (word.empty()) {
        RETURN_IF_ERROR(ParseStatement(nodes.back()));
      } else {
        RETURN_IF_ERROR(ParseBlockWord(word, nodes.back()));
      }
    }
    return OkStatus();
  }

  Status ParseBlockWord(std::string_view word, Node& node) {
    token_ = 1;
    if (word == "break" || word == "continue") {
      node.kind = word == "break" ? Node::Kind::kBreak : Node::Kind::kContinue;
      if (ranges_ == 0) {
        return Error(At(), fmt::format("{} stands in no range", word));
      }
      return ExpectEnd();
    }
    return ParseBlock(word, node);
  }

  // From the word's arguments to the block's end, which stays.
  Status ParseBlock(std::string_view word, Node& node) {
    if (++depth_ > kMaxTemplateDepth) {
      return Error(At(), fmt::format("more than {} blocks or brackets inside each other",
                                     kMaxTemplateDepth));
    }
    const size_t offset = pieces_[piece_].offset;
    const size_t known = variables_.size();
    const bool is_if = word == "if";
    const bool is_range = word == "range";
    node.kind = is_if ? Node::Kind::kIf : is_range ? Node::Kind::kRange : Node::Kind::kWith;
    RETURN_IF_ERROR(ParseDeclaration(node, is_range));
    RETURN_IF_ERROR(ParsePipeline(node.expression));
    RETURN_IF_ERROR(ExpectEnd());
    for (const auto& slot : declared_) {
      variables_.push_back(slot);
    }
    declared_.clear();
    const size_t in_header = variables_.size();
    ++piece_;
    const bool was_root = dot_is_root_;
    dot_is_root_ = dot_is_root_ && is_if;
    ranges_ += is_range ? 1 : 0;
    RETURN_IF_ERROR(ParseNodes(node.body));
    ranges_ -= is_range ? 1 : 0;
    dot_is_root_ = was_root;
    // What the body declares is not known behind it.
    variables_.resize(in_header);
    RETURN_IF_ERROR(ParseElse(node, offset, word));
    variables_.resize(known);
    --depth_;
    return OkStatus();
  }

  Status ParseElse(Node& node, size_t offset, std::string_view word) {
    if (piece_ == pieces_.size()) {
      return Error(offset, fmt::format("{} is not ended: write {{{{end}}}}", word));
    }
    token_ = 1;
    if (BlockWord() == "end") {
      return ExpectEnd();
    }
    if (!AtEnd()) {
      // "else if x" is an if in the else that shares its end.
      const std::string next = Peek().text;
      if (next != word || (next != "if" && next != "with")) {
        return Error(At(), "behind else stands nothing, or the word of its block");
      }
      ++token_;
      node.otherwise.emplace_back();
      node.otherwise.back().place = PlaceAt(text_, pieces_[piece_].offset);
      return ParseBlock(next == "if" ? "if" : "with", node.otherwise.back());
    }
    ++piece_;
    RETURN_IF_ERROR(ParseNodes(node.otherwise));
    if (piece_ == pieces_.size() || BlockWord() != "end") {
      return Error(offset, fmt::format("{} is not ended: write {{{{end}}}}", word));
    }
    token_ = 1;
    return ExpectEnd();
  }

  // "$x :=", "$i, $x :=" in front of a pipeline. The names count from the block's body on.
  Status ParseDeclaration(Node& node, bool is_range) {
    const size_t first = token_;
    std::vector<Token> names;
    while (!AtEnd() && Peek().kind == Token::Kind::kVariable) {
      names.push_back(Peek());
      ++token_;
      if (!IsMark(",")) {
        break;
      }
      ++token_;
    }
    if (names.empty() || !IsMark(":=")) {
      token_ = first;
      return OkStatus();
    }
    if (names.size() > (is_range ? 2 : 1)) {
      return Error(names[1].offset, "too many variables");
    }
    ++token_;
    if (names.size() == 2) {
      node.key = Declare(names[0].text);
    }
    node.value = Declare(names.back().text);
    return OkStatus();
  }

  size_t Declare(const std::string& name) {
    declared_.push_back({name, tree_.slots});
    return tree_.slots++;
  }

  // "$x := pipeline", "$x = pipeline", "pipeline".
  Status ParseStatement(Node& node) {
    RETURN_IF_ERROR(CheckForeignWord());
    RETURN_IF_ERROR(ParseDeclaration(node, /*is_range=*/false));
    node.kind = node.value ? Node::Kind::kSet : Node::Kind::kPrint;
    if (!node.value && !AtEnd() && Peek().kind == Token::Kind::kVariable &&
        token_ + 1 < Tokens().size() && Tokens()[token_ + 1].text == "=" &&
        Tokens()[token_ + 1].kind == Token::Kind::kMark) {
      ASSIGN_OR_RETURN(node.value, SlotOf(Peek()));
      node.kind = Node::Kind::kSet;
      token_ += 2;
    }
    RETURN_IF_ERROR(ParsePipeline(node.expression));
    RETURN_IF_ERROR(ExpectEnd());
    for (const auto& variable : declared_) {
      variables_.push_back(variable);
    }
    declared_.clear();
    return OkStatus();
  }

  Status CheckForeignWord() const {
    if (!AtEnd() && Peek().kind == Token::Kind::kWord &&
        std::ranges::find(kForeignWords, Peek().text) != kForeignWords.end()) {
      return Error(
          At(), fmt::format("{} is not supported: write the text where it is used", Peek().text));
    }
    return OkStatus();
  }

  // "a | b x" is "b x (a)".
  Status ParsePipeline(Expression& result) {
    if (++depth_ > kMaxTemplateDepth) {
      return Error(At(), fmt::format("more than {} blocks or brackets inside each other",
                                     kMaxTemplateDepth));
    }
    std::optional<Expression> before;
    do {
      token_ += before ? 1 : 0;
      Expression command;
      RETURN_IF_ERROR(ParseCommand(command, before));
      before = std::move(command);
    } while (IsMark("|"));
    result = *std::move(before);
    --depth_;
    return OkStatus();
  }

  Status ParseCommand(Expression& result, std::optional<Expression>& piped) {
    const size_t offset = At();
    const bool is_call = !AtEnd() && Peek().kind == Token::Kind::kWord && !IsConstant(Peek().text);
    if (!is_call) {
      if (piped) {
        return Error(offset, "behind | stands a function");
      }
      RETURN_IF_ERROR(ParseOperand(result));
      return AtEnd() || IsMark("|") || IsMark(")") ? OkStatus()
                                                   : Error(At(), "only a function takes arguments");
    }
    result.kind = Expression::Kind::kCall;
    result.place = PlaceAt(text_, offset);
    result.function = FindFunction(Peek().text);
    if (result.function == nullptr) {
      return UnknownFunction(Peek());
    }
    ++token_;
    while (!AtEnd() && !IsMark("|") && !IsMark(")")) {
      result.arguments.emplace_back();
      RETURN_IF_ERROR(ParseOperand(result.arguments.back()));
    }
    if (piped) {
      result.arguments.push_back(*std::move(piped));
    }
    return CheckCall(result, offset);
  }

  Status UnknownFunction(const Token& token) const {
    const auto nearest = Nearest(token.text, FunctionNames());
    return Error(token.offset, fmt::format("unknown function \"{}\"{}", token.text,
                                           nearest ? fmt::format(": did you mean \"{}\"?", *nearest)
                                                   : ": docs/rules.md lists those there are"));
  }

  Status CheckCall(Expression& call, size_t offset) const {
    const Function& function = *call.function;
    const size_t count = call.arguments.size();
    if (count < function.least || count > function.most) {
      const std::string wanted = function.most == kAnyNumber
                                     ? fmt::format("{} or more", function.least)
                                 : function.least == function.most
                                     ? fmt::format("{}", function.least)
                                     : fmt::format("{} to {}", function.least, function.most);
      return Error(offset,
                   fmt::format("{} takes {} arguments, not {}", function.name, wanted, count));
    }
    if (function.takes_pattern) {
      const std::string* text = call.arguments.front().literal.if_text();
      if (text == nullptr || call.arguments.front().kind != Expression::Kind::kLiteral) {
        return Error(offset, fmt::format("{}: the regular expression must stand here as a text, so "
                                         "that it is compiled once",
                                         function.name));
      }
      auto pattern = Pattern::Compile(*text);
      if (!pattern.ok()) {
        return Error(offset, Message(pattern.status()));
      }
      call.pattern = *std::move(pattern);
      call.arguments.erase(call.arguments.begin());
    }
    const Expression* format = function.name == "printf" ? &call.arguments.front() : nullptr;
    if (format != nullptr && format->kind == Expression::Kind::kLiteral &&
        format->literal.if_text() != nullptr) {
      if (const Status status = CheckFormat(*format->literal.if_text(), count - 1); !status.ok()) {
        return Error(offset, Message(status));
      }
    }
    return OkStatus();
  }

  static bool IsConstant(std::string_view word) {
    return word == "true" || word == "false" || word == "nil";
  }

  Status ParseOperand(Expression& result) {
    if (AtEnd()) {
      return Error(At(), "a value is missing");
    }
    const Token& token = Peek();
    result.place = PlaceAt(text_, token.offset);
    bool is_whole_data = false;
    RETURN_IF_ERROR(ParsePrimary(token, result, is_whole_data));
    while (!AtEnd() && Peek().kind == Token::Kind::kField && Peek().is_glued) {
      result.fields.push_back(Peek().text);
      ++token_;
    }
    if (!AtEnd() && Peek().is_glued && !IsMark(")") && !IsMark("|") && !IsMark(",")) {
      return Error(At(), "a blank is missing here");
    }
    if (!result.fields.empty() && result.kind == Expression::Kind::kLiteral) {
      return Error(token.offset, "a constant has no fields");
    }
    if (is_whole_data && !result.fields.empty()) {
      tree_.paths.push_back({result.place, result.fields});
    }
    return OkStatus();
  }

  Status ParsePrimary(const Token& token, Expression& result, bool& is_whole_data) {
    switch (token.kind) {
      case Token::Kind::kDot:
      case Token::Kind::kField:
        result.kind = Expression::Kind::kDot;
        is_whole_data = dot_is_root_;
        if (token.kind == Token::Kind::kField) {
          result.fields.push_back(token.text);
        }
        ++token_;
        return OkStatus();
      case Token::Kind::kVariable: {
        result.kind = Expression::Kind::kVariable;
        ASSIGN_OR_RETURN(result.slot, SlotOf(token));
        is_whole_data = result.slot == 0;
        ++token_;
        return OkStatus();
      }
      case Token::Kind::kText:
        result.literal = Value(token.text);
        ++token_;
        return OkStatus();
      case Token::Kind::kNumber:
        result.literal = Value(token.number);
        ++token_;
        return OkStatus();
      case Token::Kind::kWord:
        return ParseConstant(token, result);
      case Token::Kind::kMark:
        break;
    }
    if (token.text != "(") {
      return Error(token.offset, fmt::format("\"{}\" means nothing here", token.text));
    }
    const size_t offset = token.offset;
    ++token_;
    RETURN_IF_ERROR(ParsePipeline(result));
    if (!IsMark(")")) {
      return Error(offset, "a bracket is not closed: write )");
    }
    ++token_;
    return OkStatus();
  }

  Status ParseConstant(const Token& token, Expression& result) {
    if (!IsConstant(token.text)) {
      return FindFunction(token.text) == nullptr
                 ? UnknownFunction(token)
                 : Error(
                       token.offset,
                       fmt::format("a call as an argument stands in brackets: ({} …)", token.text));
    }
    if (token.text != "nil") {
      result.literal = Value(token.text == "true");
    }
    ++token_;
    return OkStatus();
  }

  StatusOr<size_t> SlotOf(const Token& token) const {
    // The innermost of a name.
    for (size_t i = variables_.size(); i-- > 0;) {
      if (variables_[i].name == token.text) {
        return variables_[i].slot;
      }
    }
    return Error(token.offset, fmt::format("unknown variable ${}: declare it with ${} := …",
                                           token.text, token.text));
  }

  const std::vector<Token>& Tokens() const { return pieces_[piece_].tokens; }
  bool AtEnd() const { return token_ >= Tokens().size(); }
  const Token& Peek() const { return Tokens()[token_]; }
  size_t At() const { return AtEnd() ? pieces_[piece_].offset : Peek().offset; }
  bool IsMark(std::string_view mark) const {
    return !AtEnd() && Peek().kind == Token::Kind::kMark && Peek().text == mark;
  }
  Status ExpectEnd() const {
    return AtEnd() ? OkStatus()
                   : Error(At(), fmt::format("\"{}\" is too much here", Printable(Peek().text)));
  }

  std::string_view text_;
  std::vector<TemplatePiece> pieces_;
  size_t piece_ = 0;
  size_t token_ = 0;  // of the piece
  size_t depth_ = 0;
  size_t ranges_ = 0;
  bool dot_is_root_ = true;
  std::vector<Variable> variables_;  // known here, the innermost last
  std::vector<Variable> declared_;   // by the action in work
  TemplateTree tree_;
};

}  // namespace

StatusOr<Template> Template::Parse(std::string_view text) {
  if (text.size() > kMaxTemplateBytes) {
    return InvalidArgument("the template has {} bytes: {} are allowed", text.size(),
                           kMaxTemplateBytes);
  }
  ASSIGN_OR_RETURN(TemplateTree tree, Parser(text).Parse());
  return Template(std::string(text), std::make_shared<const TemplateTree>(std::move(tree)));
}

}  // namespace kgpu::labels
