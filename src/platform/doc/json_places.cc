#include "src/platform/doc/json_places.h"

#include <algorithm>
#include <utility>

namespace kgpu::doc {
namespace {

// Walks brackets and strings; everything else is skipped, since the text is known to be JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Place Value() {
    SkipTo(kNoBlank);
    Place place;
    place.value = Here();
    switch (Peek()) {
      case '{':
        Children(place, '}', true);
        break;
      case '[':
        Children(place, ']', false);
        break;
      case '"':
        String();
        break;
      default:
        offset_ = std::min(text_.find_first_of(",]} \t\r\n", offset_), text_.size());
    }
    return place;
  }

 private:
  static constexpr bool kNoBlank = false;
  static constexpr bool kNoBlankOrComma = true;

  char Peek() const { return offset_ < text_.size() ? text_[offset_] : '\0'; }

  void Children(Place& parent, char end, bool has_keys) {
    ++offset_;
    for (SkipTo(kNoBlankOrComma); offset_ < text_.size() && Peek() != end;
         SkipTo(kNoBlankOrComma)) {
      Position key;
      if (has_keys) {
        key = Here();
        String();
        offset_ = std::min(text_.find(':', offset_), text_.size() - 1) + 1;
      }
      Place child = Value();
      child.key = key;
      parent.children.push_back(std::move(child));
    }
    offset_ = std::min(offset_ + 1, text_.size());
  }

  void String() {
    for (++offset_; offset_ < text_.size() && text_[offset_] != '"'; ++offset_) {
      if (text_[offset_] == '\\') {
        ++offset_;
      }
    }
    offset_ = std::min(offset_ + 1, text_.size());
  }

  // Strings of JSON hold no line ends: all of them are seen here.
  void SkipTo(bool skips_commas) {
    for (; offset_ < text_.size(); ++offset_) {
      const char c = text_[offset_];
      if (c == '\n') {
        ++line_;
        line_start_ = offset_ + 1;
      } else if (c != ' ' && c != '\t' && c != '\r' && !(skips_commas && c == ',')) {
        return;
      }
    }
  }

  Position Here() const { return {.line = line_, .column = offset_ - line_start_ + 1}; }

  std::string_view text_;
  size_t offset_ = 0;
  size_t line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace

Place PlacesOfJson(std::string_view text) {
  return Scanner(text).Value();
}

}  // namespace kgpu::doc
