// Walks over JSON text without parsing it: finds where strings and values end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace kgpu::doc {

// On valid JSON it is positioned as each function says; on anything else, somewhere in the text: it
// always advances and never passes the end. Allocates nothing.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ >= text_.size(); }
  // Zero at the end.
  char Here() const { return AtEnd() ? '\0' : text_[at_]; }
  void Step() { at_ = std::min(at_ + 1, text_.size()); }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  // Skips `c` and the blanks around it; false if another character is here.
  bool Take(char c) {
    SkipBlanks();
    if (Here() != c) {
      return false;
    }
    Step();
    SkipBlanks();
    return true;
  }

  // Call at an opening quote; ends after the closing one. Returns what is between them, escapes
  // included.
  std::string_view SkipString() {
    const size_t begin = std::min(at_ + 1, text_.size());
    size_t end = text_.find('"', begin);
    while (end != std::string_view::npos && IsEscaped(end)) {
      end = text_.find('"', end + 1);
    }
    end = std::min(end, text_.size());
    at_ = std::min(end + 1, text_.size());
    return text_.substr(begin, end - begin);
  }
  // Skips a number, true, false or null.
  std::string_view SkipWord() {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }
  // Skips any value. Calls `on_number` with every number in it.
  template <typename OnNumber>
  void SkipValue(OnNumber on_number) {
    size_t depth = 0;
    do {
      SkipBlanks();
      const char c = Here();
      if (c == '"') {
        (void)SkipString();
      } else if (c == '{' || c == '[') {
        ++depth;
        Step();
      } else if (c == '}' || c == ']') {
        depth -= depth > 0 ? 1 : 0;
        Step();
      } else if (c == ',' || c == ':') {
        Step();
      } else if (const std::string_view word = SkipWord(); c == '-' || (c >= '0' && c <= '9')) {
        on_number(word);
      }
    } while (depth > 0 && !AtEnd());
  }
  void SkipValue() {
    SkipValue([](std::string_view) {});
  }
  // Call at a value; ends after it. In an object or a list, calls `on_child` at each value, with
  // the quoted key before it (empty in a list); `on_child` must skip the value by Walk.
  template <typename OnChild>
  void Walk(OnChild on_child) {
    const char open = Here();
    if (open != '{' && open != '[') {
      SkipValue();
      return;
    }
    Step();
    while (SkipCommas(), !AtEnd() && Here() != '}' && Here() != ']') {
      const size_t begin = at_;
      if (open == '{') {
        (void)SkipString();
      }
      const std::string_view key = text_.substr(begin, at_ - begin);
      (void)Take(':');
      on_child(key);
      at_ = std::max(at_, std::min(begin + 1, text_.size()));
    }
    Step();
  }

 private:
  void SkipCommas() { at_ = std::min(text_.find_first_not_of(" \t\r\n,", at_), text_.size()); }
  // Whether an odd number of backslashes precedes the quote at `quote`.
  bool IsEscaped(size_t quote) const {
    size_t first = quote;
    while (first > 0 && text_[first - 1] == '\\') {
      --first;
    }
    return (quote - first) % 2 == 1;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace kgpu::doc
