#include "src/kube/cel/lexer.h"

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/utf8.h"

namespace kgpu::cel {
namespace {

constexpr bool StartsName(char c) {
  return IsLetter(c) || c == '_';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> Run() {
    for (SkipSpace(); at_ < text_.size(); SkipSpace()) {
      RETURN_IF_ERROR(Next());
    }
    Add(Token::Kind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void SkipSpace() {
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (std::string_view(" \t\r\n\f").find(text_[at_]) != std::string_view::npos) {
        ++at_;
      } else {
        return;
      }
    }
  }

  void Add(Token::Kind kind, size_t from, Value literal = {}) {
    tokens_.push_back({.kind = kind,
                       .text = text_.substr(from, at_ - from),
                       .literal = std::move(literal),
                       .at = from});
  }

  Status Next() {
    const char c = Peek();
    const bool is_raw = (c == 'r' || c == 'R') && (Peek(1) == '"' || Peek(1) == '\'');
    if (c == '"' || c == '\'' || is_raw) {
      return ReadString(is_raw);
    }
    if ((c == 'b' || c == 'B') && (Peek(1) == '"' || Peek(1) == '\'')) {
      return Unimplemented("column {}: kgpu cannot evaluate bytes", at_ + 1);
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      return ReadNumber();
    }
    const size_t from = at_;
    if (StartsName(c)) {
      while (IsAlphanumeric(Peek()) || Peek() == '_') {
        ++at_;
      }
      Add(Token::Kind::kName, from);
      return OkStatus();
    }
    static constexpr std::string_view kLong[] = {"&&", "||", "==", "!=", "<=", ">="};
    for (const std::string_view sign : kLong) {
      if (text_.substr(at_).starts_with(sign)) {
        at_ += sign.size();
        Add(Token::Kind::kSign, from);
        return OkStatus();
      }
    }
    if (std::string_view("!<>+-*/%?:.,()[]{}").find(c) == std::string_view::npos) {
      return InvalidArgument("column {}: unexpected \"{}\"", at_ + 1,
                             Printable(text_.substr(at_, 1)));
    }
    ++at_;
    Add(Token::Kind::kSign, from);
    return OkStatus();
  }

  Status ReadNumber() {
    const size_t from = at_;
    const bool is_hex = Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X');
    bool is_real = false;
    while (IsAlphanumeric(Peek()) || (!is_hex && Peek() == '.' && IsDigit(Peek(1)))) {
      const bool has_exponent = !is_hex && (Peek() == 'e' || Peek() == 'E');
      is_real = is_real || has_exponent || Peek() == '.';
      at_ += has_exponent && (Peek(1) == '+' || Peek(1) == '-') ? 2 : 1;
    }
    const std::string_view digits = text_.substr(from, at_ - from);
    if (digits.ends_with('u') || digits.ends_with('U')) {
      return Unimplemented("column {}: kgpu cannot evaluate unsigned numbers", from + 1);
    }
    auto number = is_real ? ParseReal(digits) : ParseWhole(digits, is_hex ? 16 : 10);
    if (!number) {
      return InvalidArgument("column {}: \"{}\" is no number", from + 1, Printable(digits, 40));
    }
    Add(Token::Kind::kLiteral, from, *std::move(number));
    return OkStatus();
  }

  static std::optional<Value> ParseReal(std::string_view digits) {
    double real = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    const bool is_number = error == std::errc() && end == digits.data() + digits.size();
    return is_number ? std::optional(Value{real}) : std::nullopt;
  }

  static std::optional<Value> ParseWhole(std::string_view digits, int base) {
    const auto whole = ParseUint(digits, base);
    return whole && *whole <= INT64_MAX ? std::optional(Value{static_cast<int64_t>(*whole)})
                                        : std::nullopt;
  }

  Status ReadString(bool is_raw) {
    const size_t from = at_;
    at_ += is_raw ? 1 : 0;
    const std::string triple(3, Peek());
    const std::string_view quote = text_.substr(at_).starts_with(triple)
                                       ? std::string_view(triple)
                                       : std::string_view(triple).substr(2);
    at_ += quote.size();
    std::string value;
    while (!text_.substr(at_).starts_with(quote)) {
      if (at_ >= text_.size() || (quote.size() == 1 && Peek() == '\n')) {
        return InvalidArgument("column {}: the string does not end", from + 1);
      }
      if (Peek() == '\\' && !is_raw) {
        RETURN_IF_ERROR(ReadEscape(value));
      } else {
        value += text_[at_++];
      }
    }
    at_ += quote.size();
    Add(Token::Kind::kLiteral, from, {std::move(value)});
    return OkStatus();
  }

  Status ReadEscape(std::string& value) {
    static constexpr std::string_view kFrom = "abfnrtv\\?\"'`";
    static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\?\"'`";
    const size_t found = kFrom.find(Peek(1));
    if (found == std::string_view::npos) {
      return Unimplemented("column {}: kgpu cannot evaluate this escape", at_ + 1);
    }
    value += kTo[found];
    at_ += 2;
    return OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Token> tokens_;
};

}  // namespace

StatusOr<std::vector<Token>> SplitTokens(std::string_view text) {
  if (const auto invalid = FindInvalidUtf8(text)) {
    return InvalidArgument("column {}: not UTF-8", *invalid + 1);
  }
  return Lexer(text).Run();
}

}  // namespace kgpu::cel
