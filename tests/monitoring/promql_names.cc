#include "tests/monitoring/promql_names.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kgpu::monitoring {
namespace {

// Words that stand before a list of labels in parentheses.
constexpr std::array<std::string_view, 6> kLabelLists = {"by",       "without",    "on",
                                                         "ignoring", "group_left", "group_right"};
constexpr std::array<std::string_view, 5> kOperators = {"and", "or", "unless", "bool", "offset"};

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ':';
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// Words and single signs; no texts, numbers, durations and variables.
std::vector<std::string> TokensOf(std::string_view text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = std::min(text.find(c, at + 1), text.size() - 1) + 1;
      continue;
    }
    if (!IsWordByte(c) && c != '$') {
      if (c != ' ' && c != '\n') {
        tokens.emplace_back(1, c);
      }
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && IsWordByte(text[end])) {
      ++end;
    }
    if (!IsDigit(c) && c != '$') {
      tokens.emplace_back(text.substr(at, end - at));
    }
    at = end;
  }
  return tokens;
}

template <size_t size>
bool IsOneOf(const std::array<std::string_view, size>& words, const std::string& token) {
  return std::ranges::find(words, token) != words.end();
}

class Reader {
 public:
  explicit Reader(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}

  PromqlNames Read() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const std::string& token = tokens_[at_];
      if (token == "{") {
        TakeLabels("}");
      } else if (IsOneOf(kLabelLists, token) && Next() == "(") {
        TakeLabels(")");
      } else if (token == "label_values") {
        TakeLabelValues();
      } else if (IsWordByte(token[0]) && !IsOneOf(kOperators, token) &&
                 !IsOneOf(kLabelLists, token) && Next() != "(" && Next() != "by" &&
                 Next() != "without") {
        names_.series.insert(token);
      }
    }
    return std::move(names_);
  }

 private:
  std::string Next() const { return at_ + 1 < tokens_.size() ? tokens_[at_ + 1] : ""; }

  void TakeLabels(std::string_view end) {
    for (++at_; at_ < tokens_.size() && tokens_[at_] != end; ++at_) {
      if (IsWordByte(tokens_[at_][0])) {
        names_.labels.insert(tokens_[at_]);
      }
    }
  }

  // Grafana's own: label_values(series{label="x"}, label).
  void TakeLabelValues() {
    ++at_;
    for (++at_; at_ < tokens_.size() && tokens_[at_] != ","; ++at_) {
      if (tokens_[at_] == "{") {
        TakeLabels("}");
      } else {
        names_.series.insert(tokens_[at_]);
      }
    }
    TakeLabels(")");
  }

  const std::vector<std::string> tokens_;
  size_t at_ = 0;
  PromqlNames names_;
};

}  // namespace

PromqlNames NamesOfExpression(std::string_view expression) {
  return Reader(TokensOf(expression)).Read();
}

}  // namespace kgpu::monitoring
