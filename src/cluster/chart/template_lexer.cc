#include "src/cluster/chart/template_lexer.h"

#include <algorithm>

#include "src/cluster/chart/template_parser.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::chart {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool IsBlank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

std::string_view WithoutBlanksAtEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

class TemplateCutter {
 public:
  TemplateCutter(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  StatusOr<std::vector<Piece>> Cut() {
    while (at_ < text_.size()) {
      const size_t open = std::min(text_.find("{{", at_), text_.size());
      const bool trims_before =
          text_.substr(open, 3) == "{{-" && open + 3 < text_.size() && IsBlank(text_[open + 3]);
      AddText(open, trims_before);
      at_ = open;
      if (open < text_.size()) {
        RETURN_IF_ERROR(CutAction(open + (trims_before ? 3 : 2)));
      }
    }
    return std::move(pieces_);
  }

 private:
  void AddText(size_t end, bool trims_end) {
    size_t begin = at_;
    if (trims_next_) {
      begin = std::min(text_.find_first_not_of(kBlanks, begin), end);
      begin = std::max(begin, at_);
    }
    std::string_view text = text_.substr(begin, end - begin);
    if (trims_end) {
      text = WithoutBlanksAtEnd(text);
    }
    if (!text.empty()) {
      pieces_.push_back({.is_action = false, .at = begin, .text = text});
    }
  }

  template <typename... Args>
  Status Fail(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return InvalidArgument("{}{}", Where(text_, name_, at),
                           fmt::format(format, std::forward<Args>(args)...));
  }

  // From behind "{{" to behind "}}".
  Status CutAction(size_t begin) {
    Piece piece{.is_action = true, .at = at_};
    size_t at = std::min(text_.find_first_not_of(kBlanks, begin), text_.size());
    if (text_.substr(at, 2) == "/*") {
      at = text_.find("*/", at + 2);
      if (at == std::string_view::npos) {
        return Fail(piece.at, "the comment has no end: add */");
      }
      at += 2;
    } else {
      RETURN_IF_ERROR(CutWords(at, piece.words));
      if (piece.words.empty()) {
        return Fail(piece.at, "an action must contain something");
      }
    }
    const size_t close = std::min(text_.find_first_not_of(kBlanks, at), text_.size());
    trims_next_ = text_.substr(close, 3) == "-}}" && close > at;
    const size_t braces = trims_next_ ? close + 1 : close;
    if (text_.substr(braces, 2) != "}}") {
      return Fail(braces, "expected }}}} here");
    }
    at_ = braces + 2;
    pieces_.push_back(std::move(piece));
    return OkStatus();
  }

  // Up to "}}" or " -}}".
  Status CutWords(size_t& at, std::vector<Word>& words) {
    while (true) {
      const size_t next = text_.find_first_not_of(kBlanks, at);
      if (next == std::string_view::npos) {
        return Fail(at_, "the action has no end: add }}}}");
      }
      const std::string_view rest = text_.substr(next);
      if (rest.starts_with("}}") || (rest.starts_with("-}}") && next > at)) {
        return OkStatus();
      }
      ASSIGN_OR_RETURN(const Word word, CutWord(next));
      const bool is_sign = word.kind == Word::Kind::kSign;
      const bool touches =
          next == at && !words.empty() && !is_sign && words.back().kind != Word::Kind::kSign;
      if (touches) {
        return Fail(next, "a blank is missing before \"{}\"", Printable(word.text, 20));
      }
      words.push_back(word);
      at = next + word.text.size();
    }
  }

  StatusOr<Word> CutWord(size_t at) const {
    const char first = text_[at];
    const auto to = [&](size_t end) { return text_.substr(at, std::min(end, text_.size()) - at); };
    if (first == '|' || first == '(' || first == ')' || first == ',') {
      return Word{.kind = Word::Kind::kSign, .at = at, .text = to(at + 1)};
    }
    if (text_.substr(at, 2) == ":=") {
      return Word{.kind = Word::Kind::kSign, .at = at, .text = to(at + 2)};
    }
    if (first == '"') {
      const size_t end = text_.find_first_of("\"\\\n", at + 1);
      if (end == std::string_view::npos || text_[end] != '"') {
        return Fail(at, "a string must end on its line and have no backslash");
      }
      return Word{.kind = Word::Kind::kString, .at = at, .text = to(end + 1)};
    }
    if (first == '.' || first == '$') {
      const std::string_view field =
          to(text_.find_first_not_of("." + std::string(kLetters), at + 1));
      if (field.ends_with('.') || field.find("..") != std::string_view::npos) {
        return Fail(at, "\"{}\" must be names separated by dots, such as .Values.image",
                    Printable(field, 40));
      }
      return Word{.kind = Word::Kind::kField, .at = at, .text = field};
    }
    const std::string_view word = to(text_.find_first_not_of(kLetters, at));
    if (word.empty()) {
      return Fail(at, "\"{}\" is not part of the template language here",
                  Printable(std::string_view(&first, 1)));
    }
    return Word{.kind = first >= '0' && first <= '9' ? Word::Kind::kNumber : Word::Kind::kName,
                .at = at,
                .text = word};
  }

  std::string_view text_;
  std::string_view name_;
  size_t at_ = 0;
  bool trims_next_ = false;
  std::vector<Piece> pieces_;
};

}  // namespace

StatusOr<std::vector<Piece>> CutTemplate(std::string_view text, std::string_view name) {
  return TemplateCutter(text, name).Cut();
}

}  // namespace kgpu::chart
