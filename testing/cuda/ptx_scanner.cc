#include "testing/cuda/ptx_scanner.h"

#include <cstring>

namespace kgpu::ptx {
namespace {

bool IsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\0';
}

}  // namespace

bool Token::Is(const char* word) const {
  return strlen(word) == size && memcmp(word, text, size) == 0;
}

void Scanner::SkipBlanks() {
  while (at_ != end_) {
    const bool has_next = end_ - at_ > 1;
    if (IsBlank(*at_)) {
      line_ += *at_ == '\n' ? 1 : 0;
      ++at_;
    } else if (has_next && at_[0] == '/' && at_[1] == '/') {
      const void* newline = memchr(at_, '\n', static_cast<size_t>(end_ - at_));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
    } else if (has_next && at_[0] == '/' && at_[1] == '*') {
      at_ += 2;
      while (end_ - at_ > 1 && !(at_[0] == '*' && at_[1] == '/')) {
        line_ += *at_ == '\n' ? 1 : 0;
        ++at_;
      }
      at_ = end_ - at_ > 1 ? at_ + 2 : end_;
    } else {
      return;
    }
  }
}

Token Scanner::Next() {
  SkipBlanks();
  Token token{.text = at_, .size = 0, .line = line_};
  if (at_ == end_) {
    return token;
  }
  do {
    ++at_;
  } while (at_ != end_ && IsWord(*token.text) && IsWord(*at_));
  token.size = static_cast<size_t>(at_ - token.text);
  return token;
}

}  // namespace kgpu::ptx
