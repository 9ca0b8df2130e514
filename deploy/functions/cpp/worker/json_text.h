// The little JSON that the worker reads and writes: objects of texts, numbers and such objects.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace kgpu::fn {

// Reads what kgpu-fnwatch writes. Of any other text it reads some of it; it never leaves the text.
class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : text_(text) {}

  // Calls on_member(name, reader) for each member of the object here; on_member reads the value.
  template <typename OnMember>
  void Object(OnMember on_member) {
    if (!Take('{')) {
      return;
    }
    while (!AtEnd() && !Take('}')) {
      const std::string name = Text();
      if (!Take(':')) {
        return;
      }
      on_member(name, *this);
      Take(',');
    }
  }

  std::string Text() {
    std::string out;
    if (!Take('"')) {
      at_ = text_.size();
      return out;
    }
    while (!AtEnd() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        ++at_;
        AppendEscape(out);
      } else {
        out += text_[at_++];
      }
    }
    Take('"');
    return out;
  }

  long Number() {
    long value = 0;
    while (!AtEnd() && text_[at_] >= '0' && text_[at_] <= '9' && value < 100000000000L) {
      value = value * 10 + (text_[at_++] - '0');
    }
    return value;
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) {
      return false;
    }
    ++at_;
    return true;
  }

  // Of those there are, the watchdog writes \" \\ and \u00xx.
  void AppendEscape(std::string& out) {
    if (AtEnd()) {
      return;
    }
    const char c = text_[at_++];
    if (c != 'u') {
      out += c;
      return;
    }
    unsigned code = 0;
    for (int i = 0; i < 4 && !AtEnd(); ++i) {
      const char digit = text_[at_++];
      code =
          code * 16 + static_cast<unsigned>(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      out += static_cast<char>(0xc0 | ((code >> 6) & 0x1f));
      out += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

inline void AppendJsonText(std::string& out, const std::string& text) {
  static const char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      if (c == '"' || c == '\\') {
        out += '\\';
      }
      out += c;
    }
  }
  out += '"';
}

}  // namespace kgpu::fn
