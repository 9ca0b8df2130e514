#include "src/kube/cel/syntax.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "src/kube/cel/functions.h"
#include "src/kube/cel/lexer.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::cel {
namespace {

constexpr size_t kMaxBytes = size_t{10} << 10;  // as the API server allows
constexpr size_t kMaxDepth = 100;

// Lowest precedence first.
constexpr size_t kLevels = 3;
size_t LevelOf(std::string_view sign) {
  constexpr std::array<std::string_view, 12> kSigns = {
      "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "*", "/", "%"};
  const size_t at = static_cast<size_t>(std::ranges::find(kSigns, sign) - kSigns.begin());
  return at < 7 ? 0 : at < 9 ? 1 : at < kSigns.size() ? 2 : kLevels;
}

bool IsReserved(std::string_view name) {
  constexpr std::array<std::string_view, 18> kWords = {
      "in",     "as",  "break", "const", "continue",  "else",   "for", "function", "if",
      "import", "let", "loop",  "null",  "namespace", "return", "var", "void",     "while"};
  return std::ranges::find(kWords, name) != kWords.end();
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  StatusOr<Node> Run() {
    ASSIGN_OR_RETURN(Node root, ParseChoice());
    if (Peek().kind != Token::Kind::kEnd) {
      return Unexpected();
    }
    return root;
  }

 private:
  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool IsNext(std::string_view sign) const {
    return Peek().kind == Token::Kind::kSign && Peek().text == sign;
  }
  bool Take(std::string_view sign) {
    const bool is_next = IsNext(sign);
    at_ += is_next ? 1 : 0;
    return is_next;
  }
  Status Unexpected() const {
    const std::string_view text = Peek().text;
    return InvalidArgument("column {}: unexpected {}", Peek().at + 1,
                           text.empty() ? "end" : fmt::format("\"{}\"", Printable(text, 40)));
  }
  Status Expect(std::string_view sign) { return Take(sign) ? OkStatus() : Unexpected(); }

  // A node that ends with the last token that was taken.
  StatusOr<Node> Make(Op op, size_t begin, std::vector<Node> children, std::string name = "") {
    Node node{.op = op, .begin = begin, .name = std::move(name)};
    const Token& last = tokens_[at_ == 0 ? 0 : at_ - 1];
    node.end = last.at + last.text.size();
    for (const Node& child : children) {
      node.depth = std::max(node.depth, child.depth + 1);
    }
    node.children = std::move(children);
    if (node.depth > kMaxDepth) {
      return TooDeep();
    }
    return node;
  }
  Status TooDeep() const {
    return OutOfRange("column {}: more than {} levels", Peek().at + 1, kMaxDepth);
  }

  StatusOr<Node> ParseChoice() {
    if (depth_ >= kMaxDepth) {
      return TooDeep();
    }
    ++depth_;
    StatusOr<Node> node = ParseOpenChoice();
    --depth_;
    return node;
  }

  StatusOr<Node> ParseOpenChoice() {
    const size_t begin = Peek().at;
    ASSIGN_OR_RETURN(Node condition, ParseLogic(Op::kOr));
    if (!Take("?")) {
      return condition;
    }
    std::vector<Node> parts;
    parts.push_back(std::move(condition));
    ASSIGN_OR_RETURN(Node yes, ParseLogic(Op::kOr));
    RETURN_IF_ERROR(Expect(":"));
    ASSIGN_OR_RETURN(Node no, ParseChoice());
    parts.push_back(std::move(yes));
    parts.push_back(std::move(no));
    return Make(Op::kChoice, begin, std::move(parts));
  }

  StatusOr<Node> ParseLogic(Op op) {
    const size_t begin = Peek().at;
    std::vector<Node> parts;
    do {
      ASSIGN_OR_RETURN(Node part, op == Op::kOr ? ParseLogic(Op::kAnd) : ParseOperators(0));
      parts.push_back(std::move(part));
    } while (Take(op == Op::kOr ? "||" : "&&"));
    return parts.size() == 1 ? std::move(parts.front()) : Make(op, begin, std::move(parts));
  }

  StatusOr<Node> ParseOperators(size_t level) {
    if (level == kLevels) {
      return ParseUnary();
    }
    const size_t begin = Peek().at;
    ASSIGN_OR_RETURN(Node left, ParseOperators(level + 1));
    while (Peek().kind != Token::Kind::kLiteral && LevelOf(Peek().text) == level) {
      std::string sign(Peek().text);
      ++at_;
      ASSIGN_OR_RETURN(Node right, ParseOperators(level + 1));
      std::vector<Node> sides;
      sides.push_back(std::move(left));
      sides.push_back(std::move(right));
      ASSIGN_OR_RETURN(left, Make(Op::kOperator, begin, std::move(sides), std::move(sign)));
    }
    return left;
  }

  StatusOr<Node> ParseUnary() {
    const size_t begin = Peek().at;
    if (!IsNext("!") && !IsNext("-")) {
      return ParseMember();
    }
    const Op op = Take("!") ? Op::kNot : Op::kMinus;
    at_ += op == Op::kMinus ? 1 : 0;
    if (depth_ >= kMaxDepth) {
      return TooDeep();
    }
    ++depth_;
    StatusOr<Node> operand = ParseUnary();
    --depth_;
    RETURN_IF_ERROR(operand.status());
    std::vector<Node> operands;
    operands.push_back(*std::move(operand));
    return Make(op, begin, std::move(operands));
  }

  StatusOr<Node> ParseMember() {
    const size_t begin = Peek().at;
    ASSIGN_OR_RETURN(Node node, ParsePrimary());
    while (true) {
      if (Take(".")) {
        ASSIGN_OR_RETURN(node, ParseField(begin, std::move(node)));
      } else if (Take("[")) {
        const Op op = Take("?") ? Op::kMaybe : Op::kSelect;
        ASSIGN_OR_RETURN(Node key, ParseChoice());
        RETURN_IF_ERROR(Expect("]"));
        ASSIGN_OR_RETURN(node, MakeSelect(op, begin, std::move(node), std::move(key)));
      } else {
        return node;
      }
    }
  }

  StatusOr<Node> MakeSelect(Op op, size_t begin, Node from, Node key) {
    std::vector<Node> parts;
    parts.push_back(std::move(from));
    parts.push_back(std::move(key));
    return Make(op, begin, std::move(parts));
  }

  // A field or a method, after the dot.
  StatusOr<Node> ParseField(size_t begin, Node from) {
    const Op op = Take("?") ? Op::kMaybe : Op::kSelect;
    if (Peek().kind != Token::Kind::kName) {
      return Unexpected();
    }
    const Token name = Peek();
    ++at_;
    if (op == Op::kSelect && IsNext("(")) {
      return ParseMethod(begin, std::move(from), name);
    }
    Node key{.begin = name.at, .end = name.at + name.text.size()};
    key.literal = {std::string(name.text)};
    return MakeSelect(op, begin, std::move(from), std::move(key));
  }

  StatusOr<std::vector<Node>> ParseList(std::string_view end) {
    std::vector<Node> items;
    while (!IsNext(end)) {
      ASSIGN_OR_RETURN(Node item, ParseChoice());
      items.push_back(std::move(item));
      if (!Take(",")) {
        break;
      }
    }
    RETURN_IF_ERROR(Expect(end));
    return items;
  }

  StatusOr<Node> ParseMethod(size_t begin, Node from, const Token& name) {
    if (name.text == "bind" && from.op == Op::kName && from.name == "cel") {
      return ParseBinding(Op::kBind, begin, {});
    }
    if (name.text == "exists" || name.text == "all") {
      std::vector<Node> range;
      range.push_back(std::move(from));
      return ParseBinding(name.text == "all" ? Op::kAll : Op::kExists, begin, std::move(range));
    }
    RETURN_IF_ERROR(Expect("("));
    ASSIGN_OR_RETURN(std::vector<Node> rest, ParseList(")"));
    rest.insert(rest.begin(), std::move(from));
    return MakeCall(begin, name, true, std::move(rest));
  }

  // "(name, a, b)" after cel.bind, "(name, b)" after others.
  StatusOr<Node> ParseBinding(Op op, size_t begin, std::vector<Node> parts) {
    RETURN_IF_ERROR(Expect("("));
    const Token name = Peek();
    if (name.kind != Token::Kind::kName || IsReserved(name.text)) {
      return Unexpected();
    }
    ++at_;
    RETURN_IF_ERROR(Expect(","));
    if (op == Op::kBind) {
      ASSIGN_OR_RETURN(Node value, ParseChoice());
      parts.push_back(std::move(value));
      RETURN_IF_ERROR(Expect(","));
    }
    names_.push_back(name.text);
    StatusOr<Node> body = ParseChoice();
    names_.pop_back();
    RETURN_IF_ERROR(body.status());
    parts.push_back(*std::move(body));
    RETURN_IF_ERROR(Expect(")"));
    return Make(op, begin, std::move(parts), std::string(name.text));
  }

  StatusOr<Node> MakeCall(size_t begin, const Token& name, bool is_method,
                          std::vector<Node> arguments) {
    const Function* function = FindFunction(name.text, is_method, arguments.size());
    if (function == nullptr) {
      return Unimplemented("column {}: kgpu cannot evaluate {}{}() with {} arguments", name.at + 1,
                           is_method ? "." : "", Printable(name.text, 40),
                           arguments.size() - (is_method ? 1 : 0));
    }
    ASSIGN_OR_RETURN(Node node, Make(Op::kCall, begin, std::move(arguments)));
    node.function = function;
    return node;
  }

  StatusOr<Node> ParsePrimary() {
    const Token token = Peek();
    if (token.kind == Token::Kind::kLiteral) {
      ++at_;
      ASSIGN_OR_RETURN(Node node, Make(Op::kLiteral, token.at, {}));
      node.literal = token.literal;
      return node;
    }
    if (token.kind == Token::Kind::kName) {
      return ParseName(token);
    }
    if (Take("(")) {
      ASSIGN_OR_RETURN(Node inner, ParseChoice());
      RETURN_IF_ERROR(Expect(")"));
      return inner;
    }
    if (Take("[")) {
      ASSIGN_OR_RETURN(std::vector<Node> items, ParseList("]"));
      return Make(Op::kList, token.at, std::move(items));
    }
    if (IsNext("{")) {
      return Unimplemented("column {}: kgpu cannot evaluate maps", token.at + 1);
    }
    return Unexpected();
  }

  StatusOr<Node> ParseName(const Token& token) {
    ++at_;
    if (token.text == "true" || token.text == "false" || token.text == "null") {
      ASSIGN_OR_RETURN(Node node, Make(Op::kLiteral, token.at, {}));
      node.literal = token.text == "null" ? Value() : Value{token.text == "true"};
      return node;
    }
    if (Take("(")) {
      ASSIGN_OR_RETURN(std::vector<Node> arguments, ParseList(")"));
      return token.text == "has" ? MakeHas(token, std::move(arguments))
                                 : MakeCall(token.at, token, false, std::move(arguments));
    }
    const bool is_bind = token.text == "cel" && IsNext(".") && Peek(1).text == "bind";
    const bool is_known =
        token.text == "device" || is_bind || std::ranges::find(names_, token.text) != names_.end();
    if (!is_known || IsReserved(token.text)) {
      return Unimplemented("column {}: kgpu does not know \"{}\"", token.at + 1,
                           Printable(token.text, 40));
    }
    return Make(Op::kName, token.at, {}, std::string(token.text));
  }

  StatusOr<Node> MakeHas(const Token& token, std::vector<Node> arguments) {
    if (arguments.size() != 1 || arguments.front().op != Op::kSelect ||
        arguments.front().children[1].op != Op::kLiteral) {
      return InvalidArgument("column {}: has() takes one field: has(a.b)", token.at + 1);
    }
    std::vector<Node> parts = std::move(arguments.front().children);
    return Make(Op::kHas, token.at, std::move(parts));
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  size_t depth_ = 0;
  std::vector<std::string_view> names_;  // that are bound here
};

}  // namespace

StatusOr<Node> ParseExpression(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return OutOfRange("{} bytes, limit {}", text.size(), kMaxBytes);
  }
  ASSIGN_OR_RETURN(std::vector<Token> tokens, SplitTokens(text));
  return Parser(std::move(tokens)).Run();
}

}  // namespace kgpu::cel
