// Walks over JSON text without reading it: where strings and values end. Private to this module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace kgpu::oci {

// On JSON it stands where the functions say; on anything else somewhere before the end of the text:
// it always gets on, and never past the end.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool AtEnd() const { return at_ >= text_.size(); }
  // Zero at the end.
  char Here() const { return AtEnd() ? '\0' : text_[at_]; }
  void Step() { at_ = std::min(at_ + 1, text_.size()); }
  void SkipBlanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  // Steps over `c` and blanks around it; false when something else is here.
  bool Take(char c);

  // At an opening quote; afterwards behind the closing one. Returns what is between, escapes and
  // all.
  std::string_view SkipString();
  // A number, true, false or null.
  std::string_view SkipWord();
  // Any value. `on_number` is called with every number in it.
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

 private:
  // Whether an odd number of backslashes stands before the quote at `quote`.
  bool IsEscaped(size_t quote) const;

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace kgpu::oci
