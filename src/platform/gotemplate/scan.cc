#include "src/platform/gotemplate/scan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "src/platform/base/ascii.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/tree.h"

namespace kgpu::gotemplate {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool IsBlank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}
bool IsWordChar(char c) {
  return IsAlphanumeric(c) || c == '_';
}

// One action, from behind its "{{".
class ActionScanner {
 public:
  ActionScanner(std::string_view text, size_t begin) : text_(text), at_(begin) {}

  // The tokens up to "}}".
  StatusOr<std::vector<Token>> Scan() {
    while (true) {
      const size_t before = at_;
      SkipBlanks();
      const bool is_glued = at_ == before && !tokens_.empty();
      if (at_ >= text_.size()) {
        return Error(at_, "unclosed action: add }}");
      }
      if (EndsHere()) {
        return std::move(tokens_);
      }
      tokens_.emplace_back();
      tokens_.back().offset = at_;
      tokens_.back().is_glued = is_glued;
      RETURN_IF_ERROR(ScanToken(tokens_.back()));
    }
  }

  // Behind "}}".
  size_t end() const { return at_; }
  bool trims_right() const { return trims_right_; }

 private:
  Status Error(size_t offset, std::string_view what) const { return ErrorAt(text_, offset, what); }

  void SkipBlanks() {
    while (at_ < text_.size() && IsBlank(text_[at_])) {
      ++at_;
    }
  }

  bool EndsHere() {
    const std::string_view rest = text_.substr(at_);
    trims_right_ = rest.starts_with("-}}") && IsBlank(text_[at_ - 1]);
    if (!trims_right_ && !rest.starts_with("}}")) {
      return false;
    }
    at_ += trims_right_ ? 3 : 2;
    return true;
  }

  Status ScanToken(Token& token) {
    const char c = text_[at_];
    if (c == '"' || c == '`') {
      token.kind = Token::Kind::kText;
      return c == '"' ? ScanQuoted(token) : ScanRaw(token);
    }
    if (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1])) {
      return Error(at_, "decimal numbers are not supported: use integers");
    }
    if (c == '.') {
      ++at_;
      token.text = TakeWord();
      token.kind = token.text.empty() ? Token::Kind::kDot : Token::Kind::kField;
      return CheckFieldEnd(token);
    }
    if (c == '$') {
      ++at_;
      token.kind = Token::Kind::kVariable;
      token.text = TakeWord();
      return OkStatus();
    }
    if (IsDigit(c) ||
        ((c == '-' || c == '+') && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      return ScanNumber(token);
    }
    if (IsWordChar(c)) {
      token.kind = Token::Kind::kWord;
      token.text = TakeWord();
      return OkStatus();
    }
    return ScanMark(token);
  }

  std::string TakeWord() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsWordChar(text_[at_])) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  // The most frequent mistake: Go has no such field either.
  Status CheckFieldEnd(const Token& token) const {
    if (token.kind == Token::Kind::kField && at_ < text_.size() && text_[at_] == '-' &&
        !text_.substr(at_).starts_with("-}}")) {
      return Error(token.offset, "a field name cannot contain \"-\": use index . \"a-b\"");
    }
    return OkStatus();
  }

  Status ScanNumber(Token& token) {
    token.kind = Token::Kind::kNumber;
    const size_t begin = text_[at_] == '+' ? at_ + 1 : at_;
    size_t end = begin + 1;
    while (end < text_.size() && (IsWordChar(text_[end]) || text_[end] == '.')) {
      ++end;
    }
    const char* const last = text_.data() + end;
    const auto [stop, error] = std::from_chars(text_.data() + begin, last, token.number);
    if (error != std::errc() || stop != last) {
      return Error(at_, "not an integer");
    }
    at_ = end;
    return OkStatus();
  }

  Status ScanRaw(Token& token) {
    const size_t end = text_.find('`', at_ + 1);
    if (end == std::string_view::npos) {
      return Error(at_, "unclosed string: add `");
    }
    token.text = std::string(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return OkStatus();
  }

  Status ScanQuoted(Token& token) {
    constexpr std::string_view kNames = "ntr\\\"";
    constexpr std::string_view kMeanings = "\n\t\r\\\"";
    size_t next = at_ + 1;
    while (next < text_.size() && text_[next] != '"' && text_[next] != '\n') {
      char c = text_[next++];
      if (c == '\\') {
        const size_t name = next < text_.size() ? kNames.find(text_[next]) : std::string_view::npos;
        if (name == std::string_view::npos) {
          return Error(next - 1,
                       "unsupported escape: use \\n"
                       ", \\t, \\r, \\\\ or \\\", or a string in ` `");
        }
        c = kMeanings[name];
        ++next;
      }
      token.text += c;
    }
    if (next >= text_.size() || text_[next] != '"') {
      return Error(at_, "unclosed string: add \"");
    }
    at_ = next + 1;
    return OkStatus();
  }

  Status ScanMark(Token& token) {
    constexpr std::array<std::string_view, 6> kMarks = {":=", "=", "(", ")", "|", ","};
    for (const std::string_view mark : kMarks) {
      if (text_.substr(at_).starts_with(mark)) {
        token.text = mark;
        at_ += mark.size();
        return OkStatus();
      }
    }
    return Error(at_, fmt::format("\"{}\" is unexpected here", Printable(text_.substr(at_, 1))));
  }

  std::string_view text_;
  size_t at_;
  bool trims_right_ = false;
  std::vector<Token> tokens_;
};

// Behind the "}}" of the comment that begins at `begin`, and whether it trims; nothing when none
// begins there or it is not closed.
struct Comment {
  size_t end = 0;
  bool trims_right = false;
};
std::optional<Comment> CommentAt(std::string_view text, size_t begin) {
  if (!text.substr(begin).starts_with("/*")) {
    return std::nullopt;
  }
  const size_t close = text.find("*/", begin + 2);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = text.substr(close + 2);
  if (rest.starts_with("}}")) {
    return Comment{.end = close + 4};
  }
  if (rest.size() > 3 && IsBlank(rest.front()) && rest.substr(1).starts_with("-}}")) {
    return Comment{.end = close + 6, .trims_right = true};
  }
  return std::nullopt;
}

}  // namespace

Lines::Lines(std::string_view text) : begins_(1, 0) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    begins_.push_back(at + 1);
  }
}

Place Lines::At(size_t offset) const {
  const auto line =
      static_cast<size_t>(std::ranges::upper_bound(begins_, offset) - begins_.begin());
  return {.line = line, .column = offset - begins_[line - 1] + 1};
}

Place PlaceAt(std::string_view text, size_t offset) {
  return Lines(text).At(offset);
}

Status ErrorAt(std::string_view text, size_t offset, std::string_view what) {
  const Place place = PlaceAt(text, offset);
  return InvalidArgument("line {}, column {}: {}", place.line, place.column, what);
}

StatusOr<std::vector<Piece>> Scan(std::string_view text) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  bool trims_left = false;  // the text that begins here
  while (begin < text.size()) {
    const size_t open = std::min(text.find("{{", begin), text.size());
    const bool trims_before =
        text.substr(open).starts_with("{{-") && open + 3 < text.size() && IsBlank(text[open + 3]);
    std::string_view piece = text.substr(begin, open - begin);
    if (trims_left) {
      piece.remove_prefix(std::min(piece.find_first_not_of(kBlanks), piece.size()));
    }
    if (trims_before) {
      piece = piece.substr(0, piece.find_last_not_of(kBlanks) + 1);
    }
    if (!piece.empty()) {
      pieces.push_back({.is_action = false, .text = piece, .tokens = {}, .offset = begin});
    }
    if (open == text.size()) {
      break;
    }
    const size_t inside = open + (trims_before ? 4 : 2);
    if (const auto comment = CommentAt(text, inside)) {
      begin = comment->end;
      trims_left = comment->trims_right;
      continue;
    }
    ActionScanner scanner(text, inside);
    ASSIGN_OR_RETURN(std::vector<Token> tokens, scanner.Scan());
    pieces.push_back({.is_action = true, .text = {}, .tokens = std::move(tokens), .offset = open});
    begin = scanner.end();
    trims_left = scanner.trims_right();
  }
  return pieces;
}

}  // namespace kgpu::gotemplate
