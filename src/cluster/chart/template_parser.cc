#include "src/cluster/chart/template_parser.h"

#include <algorithm>
#include <span>

#include "src/cluster/chart/template_lexer.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::chart {
namespace {

// Of parentheses and conditions: far more than a chart has, far less than a stack.
constexpr size_t kMaxDepth = 30;
// range $key , $entry :=
constexpr size_t kWordsOfRange = 5;

class TemplateReader {
 public:
  TemplateReader(std::string_view text, std::string_view name, std::span<const Piece> pieces)
      : text_(text), name_(name), pieces_(pieces) {}

  StatusOr<std::vector<Node>> Read() {
    ASSIGN_OR_RETURN(std::vector<Node> nodes, ReadNodes(0));
    if (next_ < pieces_.size()) {
      return Fail(pieces_[next_].at, "\"{}\" belongs to no if", pieces_[next_].words[0].text);
    }
    return nodes;
  }

 private:
  template <typename... Args>
  Status Fail(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}{}", Where(text_, name_, at),
                           fmt::format(format, std::forward<Args>(args)...));
  }

  static bool Begins(const Piece& piece, std::string_view name) {
    return !piece.words.empty() && piece.words[0].kind == Word::Kind::kName &&
           piece.words[0].text == name;
  }

  // Up to the else or end that belongs to the caller.
  StatusOr<std::vector<Node>> ReadNodes(size_t depth) {
    std::vector<Node> nodes;
    for (; next_ < pieces_.size(); ++next_) {
      const Piece& piece = pieces_[next_];
      if (!piece.is_action) {
        nodes.push_back({.kind = Node::Kind::kText, .text = piece.text, .branches = {}});
        continue;
      }
      if (piece.words.empty()) {
        continue;
      }
      if (Begins(piece, "else") || Begins(piece, "end")) {
        break;
      }
      if (Begins(piece, "if") || Begins(piece, "range")) {
        ASSIGN_OR_RETURN(Node node, Begins(piece, "if") ? ReadIf(depth + 1) : ReadRange(depth + 1));
        nodes.push_back(std::move(node));
        continue;
      }
      ASSIGN_OR_RETURN(Expression value, ReadAll(piece, 0));
      nodes.push_back({.kind = Node::Kind::kValue, .value = std::move(value), .branches = {}});
    }
    return nodes;
  }

  // Ends at its end.
  StatusOr<Node> ReadIf(size_t depth) {
    const size_t begin = pieces_[next_].at;
    if (depth > kMaxDepth) {
      return Fail(begin, "conditions are nested too deep");
    }
    Node node{.kind = Node::Kind::kIf, .branches = {}};
    while (true) {
      const Piece& piece = pieces_[next_];
      Branch branch;
      branch.is_else = Begins(piece, "else") && piece.words.size() == 1;
      if (!branch.is_else) {
        ASSIGN_OR_RETURN(const size_t words, WordsBeforeCondition(piece));
        ASSIGN_OR_RETURN(branch.condition, ReadAll(piece, words));
      }
      ++next_;
      ASSIGN_OR_RETURN(branch.nodes, ReadNodes(depth));
      node.branches.push_back(std::move(branch));
      if (next_ >= pieces_.size()) {
        return Fail(begin, "if has no end");
      }
      const Piece& stop = pieces_[next_];
      if (Begins(stop, "end")) {
        return stop.words.size() == 1 ? StatusOr<Node>(std::move(node))
                                      : Fail(stop.at, "end must stand alone");
      }
      if (node.branches.back().is_else) {
        return Fail(stop.at, "nothing but end may follow else");
      }
    }
  }

  // Ends at its end.
  StatusOr<Node> ReadRange(size_t depth) {
    const Piece& piece = pieces_[next_];
    if (depth > kMaxDepth) {
      return Fail(piece.at, "conditions are nested too deep");
    }
    Node node{.kind = Node::Kind::kRange, .branches = {}};
    ASSIGN_OR_RETURN(node.variables, VariablesOf(piece));
    ASSIGN_OR_RETURN(node.value, ReadAll(piece, kWordsOfRange));
    ++next_;
    Branch body;
    ASSIGN_OR_RETURN(body.nodes, ReadNodes(depth));
    node.branches.push_back(std::move(body));
    if (next_ >= pieces_.size()) {
      return Fail(piece.at, "range has no end");
    }
    const Piece& stop = pieces_[next_];
    if (!Begins(stop, "end") || stop.words.size() != 1) {
      return Fail(stop.at, "a range must end with end, which stands alone");
    }
    return node;
  }

  // "range $key, $entry := …": the one form of it that does not depend on what "." is.
  StatusOr<std::vector<std::string>> VariablesOf(const Piece& piece) const {
    const auto is_variable = [](const Word& word) {
      return word.kind == Word::Kind::kField && word.text.size() > 1 && word.text[0] == '$' &&
             word.text.find('.') == std::string_view::npos;
    };
    const auto& words = piece.words;
    if (words.size() <= kWordsOfRange || !is_variable(words[1]) || words[2].text != "," ||
        !is_variable(words[3]) || words[4].text != ":=" || words[1].text == words[3].text) {
      return Fail(piece.at, "range must be written as range $key, $entry := .Values.list");
    }
    return std::vector<std::string>{std::string(words[1].text), std::string(words[3].text)};
  }

  // "if …" and "else if …".
  StatusOr<size_t> WordsBeforeCondition(const Piece& piece) const {
    const size_t words = Begins(piece, "if") ? 1 : 2;
    if (words == 2 && piece.words[1].text != "if") {
      return Fail(piece.words[1].at, "only if may follow else");
    }
    if (piece.words.size() == words) {
      return Fail(piece.at, "if must have a condition");
    }
    return words;
  }

  // All words of an action from `begin` on.
  StatusOr<Expression> ReadAll(const Piece& piece, size_t begin) {
    words_ = std::span(piece.words).subspan(begin);
    ASSIGN_OR_RETURN(Expression value, ReadPipeline(piece.at, 0));
    if (!words_.empty()) {
      return words_[0].text == ")"
                 ? Fail(words_[0].at, "\"{}\" has no opening parenthesis", words_[0].text)
                 : Fail(words_[0].at, "\"{}\" is not part of the template language here",
                        words_[0].text);
    }
    return value;
  }

  bool IsAt(std::string_view sign) const {
    return !words_.empty() && words_[0].kind == Word::Kind::kSign && words_[0].text == sign;
  }

  // "a | f x" is f x a.
  StatusOr<Expression> ReadPipeline(size_t at, size_t depth) {
    if (depth > kMaxDepth) {
      return Fail(at, "parentheses are nested too deep");
    }
    ASSIGN_OR_RETURN(Expression value, ReadCommand(at, depth));
    size_t stages = 0;
    while (IsAt("|")) {
      const size_t sign = words_[0].at;
      words_ = words_.subspan(1);
      ASSIGN_OR_RETURN(Expression next, ReadCommand(sign, depth));
      if (next.kind != Expression::Kind::kCall) {
        return Fail(next.at, "a function must follow |");
      }
      if (++stages + depth > kMaxDepth) {
        return Fail(sign, "the pipeline is too long");
      }
      next.arguments.push_back(std::move(value));
      value = std::move(next);
    }
    return value;
  }

  // An operand, or a function with its arguments.
  StatusOr<Expression> ReadCommand(size_t at, size_t depth) {
    std::vector<Expression> operands;
    while (!words_.empty() && (words_[0].kind != Word::Kind::kSign || IsAt("("))) {
      ASSIGN_OR_RETURN(Expression operand, ReadOperand(depth));
      operands.push_back(std::move(operand));
    }
    if (operands.empty()) {
      return Fail(at, "a value or a function is missing");
    }
    Expression first = std::move(operands[0]);
    const bool is_file = first.kind == Expression::Kind::kField &&
                         first.names == std::vector<std::string>{"Files", "Get"};
    if (is_file) {
      first.kind = Expression::Kind::kCall;
      first.function = ".Files.Get";
    }
    const bool is_function = first.kind == Expression::Kind::kCall && first.arguments.empty();
    if (!is_function && operands.size() > 1) {
      return Fail(operands[1].at, "only a function takes arguments");
    }
    for (size_t i = 1; i < operands.size(); ++i) {
      first.arguments.push_back(std::move(operands[i]));
    }
    return first;
  }

  StatusOr<Expression> ReadOperand(size_t depth) {
    const Word word = words_[0];
    words_ = words_.subspan(1);
    if (word.kind == Word::Kind::kSign) {
      ASSIGN_OR_RETURN(Expression inner, ReadPipeline(word.at, depth + 1));
      if (!IsAt(")")) {
        return Fail(word.at, "the parenthesis is not closed");
      }
      words_ = words_.subspan(1);
      return inner;
    }
    Expression operand{.at = word.at};
    if (word.kind == Word::Kind::kString) {
      operand.constant = boost::json::string(word.text.data() + 1, word.text.size() - 2);
    } else if (word.kind == Word::Kind::kNumber) {
      const auto number = ParseUint(word.text);
      if (!number || *number > 1000) {
        return Fail(word.at, "\"{}\" must be a number up to 1000", Printable(word.text, 20));
      }
      operand.constant = *number;
    } else if (word.kind == Word::Kind::kField) {
      operand.kind = Expression::Kind::kField;
      const size_t dot = word.text.starts_with('.') ? 1 : 0;
      for (const std::string_view name : Split(word.text.substr(dot), '.')) {
        operand.names.emplace_back(name);
      }
    } else if (word.text == "true" || word.text == "false") {
      operand.constant = word.text == "true";
    } else {
      operand.kind = Expression::Kind::kCall;
      operand.function = word.text;
    }
    return operand;
  }

  std::string_view text_;
  std::string_view name_;
  std::span<const Piece> pieces_;
  size_t next_ = 0;
  std::span<const Word> words_;  // of the action that is being read, from the next one on
};

}  // namespace

std::string Where(std::string_view text, std::string_view name, size_t at) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto lines = std::ranges::count(before, '\n');
  const size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}: ", name, lines + 1, before.size() - line_begin + 1);
}

StatusOr<std::vector<Node>> ParseTemplate(std::string_view text, std::string_view name) {
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, CutTemplate(text, name));
  return TemplateReader(text, name, pieces).Read();
}

}  // namespace kgpu::chart
