// Tokens to tree: blocks and what is declared in them. Recursion is bounded by Limits::depth.
#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/gotemplate/action.h"
#include "src/platform/gotemplate/scan.h"
#include "src/platform/gotemplate/template.h"

namespace kgpu::gotemplate {
namespace {

constexpr std::array<std::string_view, 7> kBlockWords = {"if",  "range", "with",    "else",
                                                         "end", "break", "continue"};
constexpr std::array<std::string_view, 3> kForeignWords = {"define", "template", "block"};

class Parser {
 public:
  Parser(std::string_view text, const Language& language) : text_(text), scope_(text, language) {}

  StatusOr<Tree> Parse() {
    ASSIGN_OR_RETURN(pieces_, Scan(text_));
    Tree tree;
    RETURN_IF_ERROR(ParseNodes(tree.nodes));
    if (!AtEnd()) {
      return ErrorAt(text_, Current().offset, "there is no open block to end");
    }
    tree.language = &scope_.language;
    tree.slots = scope_.slots;
    tree.parts = scope_.parts;
    tree.patterns = scope_.patterns;
    tree.paths = std::move(scope_.paths);
    return tree;
  }

 private:
  bool AtEnd() const { return piece_ == pieces_.size(); }
  const Piece& Current() const { return pieces_[piece_]; }
  ActionParser Action() { return {text_, Current(), scope_}; }

  // The word an action begins with when it is one of the language's, else "".
  std::string_view BlockWord() const {
    const std::vector<Token>& tokens = Current().tokens;
    if (tokens.empty() || tokens.front().kind != Token::Kind::kWord) {
      return "";
    }
    const auto* const word = std::ranges::find(kBlockWords, tokens.front().text);
    return word == kBlockWords.end() ? std::string_view() : *word;
  }

  // Up to the end of the text, or to an else or end, which stays.
  Status ParseNodes(std::vector<Node>& nodes) {
    for (; !AtEnd(); ++piece_) {
      if (!Current().is_action) {
        nodes.emplace_back();
        nodes.back().text = std::string(Current().text);
        continue;
      }
      const std::string_view word = BlockWord();
      if (word == "else" || word == "end") {
        return OkStatus();
      }
      nodes.emplace_back();
      RETURN_IF_ERROR(ParseAction(word, nodes.back()));
    }
    return OkStatus();
  }

  Status ParseAction(std::string_view word, Node& node) {
    node.place = scope_.lines.At(Current().offset);
    ActionParser action = Action();
    RETURN_IF_ERROR(action.CountPart());
    if (word.empty()) {
      return ParseStatement(action, node);
    }
    action.Take();
    if (word != "break" && word != "continue") {
      return ParseBlock(word, action, node);
    }
    node.kind = word == "break" ? Node::Kind::kBreak : Node::Kind::kContinue;
    return ranges_ == 0
               ? action.Error(Current().offset, fmt::format("{} is outside of a range", word))
               : action.ExpectEnd();
  }

  // From behind the word to the block's end, which stays.
  Status ParseBlock(std::string_view word, ActionParser& action, Node& node) {
    RETURN_IF_ERROR(action.Descend());
    const size_t offset = Current().offset;
    const size_t known = scope_.variables.size();
    const bool is_range = word == "range";
    node.kind = is_range ? Node::Kind::kRange : word == "if" ? Node::Kind::kIf : Node::Kind::kWith;
    RETURN_IF_ERROR(ParseAssignment(action, is_range, node));
    const size_t in_header = scope_.variables.size();
    ++piece_;
    const bool was_root = std::exchange(scope_.dot_is_root, scope_.dot_is_root && word == "if");
    ranges_ += is_range ? 1 : 0;
    RETURN_IF_ERROR(ParseNodes(node.body));
    ranges_ -= is_range ? 1 : 0;
    scope_.dot_is_root = was_root;
    // Variables declared in the body are unknown after it.
    scope_.variables.resize(in_header);
    RETURN_IF_ERROR(ParseElse(word, offset, node));
    scope_.variables.resize(known);
    --scope_.depth;
    return OkStatus();
  }

  Status ParseElse(std::string_view word, size_t offset, Node& node) {
    if (AtEnd()) {
      return NotEnded(word, offset);
    }
    ActionParser action = Action();
    action.Take();
    if (BlockWord() == "end") {
      return action.ExpectEnd();
    }
    if (!action.AtEnd()) {
      // "else if x" is an if in the else that shares its end.
      if (action.Peek().text != word || word == "range") {
        return action.Error(action.At(), "only a block keyword may follow else");
      }
      action.Take();
      node.otherwise.emplace_back();
      node.otherwise.back().place = scope_.lines.At(Current().offset);
      return ParseBlock(word, action, node.otherwise.back());
    }
    ++piece_;
    RETURN_IF_ERROR(ParseNodes(node.otherwise));
    if (AtEnd() || BlockWord() != "end") {
      return NotEnded(word, offset);
    }
    ActionParser end = Action();
    end.Take();
    return end.ExpectEnd();
  }

  Status NotEnded(std::string_view word, size_t offset) const {
    return ErrorAt(text_, offset, fmt::format("{} is not closed: add {{{{end}}}}", word));
  }

  // "$x := pipeline", "$i, $x := pipeline", "pipeline". A pipeline does not know what it is
  // assigned to.
  Status ParseAssignment(ActionParser& action, bool is_range, Node& node) {
    const size_t first = action.next();
    std::vector<Token> names;
    while (action.IsVariable()) {
      names.push_back(action.Take());
      if (!action.IsMark(",")) {
        break;
      }
      action.Take();
    }
    if (names.empty() || !action.IsMark(":=")) {
      names.clear();
      action.BackTo(first);
    } else if (names.size() > (is_range ? 2 : 1)) {
      return action.Error(names[1].offset, "too many variables");
    } else {
      action.Take();
    }
    RETURN_IF_ERROR(action.ParsePipeline(node.expression));
    RETURN_IF_ERROR(action.ExpectEnd());
    if (names.size() == 2) {
      node.key = scope_.Declare(names.front().text);
    }
    if (!names.empty()) {
      node.value = scope_.Declare(names.back().text);
    }
    return OkStatus();
  }

  // "$x := pipeline", "$x = pipeline", "pipeline".
  Status ParseStatement(ActionParser& action, Node& node) {
    if (action.IsWord() &&
        std::ranges::find(kForeignWords, action.Peek().text) != kForeignWords.end()) {
      return action.Error(
          action.At(),
          fmt::format("{} is not supported: write the text where it is used", action.Peek().text));
    }
    if (action.IsVariable() && action.IsMarkBehind("=")) {
      node.kind = Node::Kind::kSet;
      ASSIGN_OR_RETURN(node.value, action.SlotOf(action.Peek()));
      action.Take();
      action.Take();
      RETURN_IF_ERROR(action.ParsePipeline(node.expression));
      return action.ExpectEnd();
    }
    RETURN_IF_ERROR(ParseAssignment(action, /*is_range=*/false, node));
    node.kind = node.value ? Node::Kind::kSet : Node::Kind::kPrint;
    return OkStatus();
  }

  std::string_view text_;
  std::vector<Piece> pieces_;
  size_t piece_ = 0;
  size_t ranges_ = 0;
  Scope scope_;
};

}  // namespace

StatusOr<Template> Template::Parse(std::string_view text, const Language& language) {
  if (text.size() > language.limits.text_bytes) {
    return InvalidArgument("the template has {} bytes, limit {}", text.size(),
                           language.limits.text_bytes);
  }
  ASSIGN_OR_RETURN(Tree tree, Parser(text, language).Parse());
  return Template(std::string(text), std::make_shared<const Tree>(std::move(tree)));
}

}  // namespace kgpu::gotemplate
