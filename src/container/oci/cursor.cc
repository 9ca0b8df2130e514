#include "src/container/oci/cursor.h"

namespace kgpu::oci {

bool Cursor::Take(char c) {
  SkipBlanks();
  if (Here() != c) {
    return false;
  }
  Step();
  SkipBlanks();
  return true;
}

std::string_view Cursor::SkipString() {
  const size_t begin = std::min(at_ + 1, text_.size());
  size_t end = text_.find('"', begin);
  while (end != std::string_view::npos && IsEscaped(end)) {
    end = text_.find('"', end + 1);
  }
  end = std::min(end, text_.size());
  at_ = std::min(end + 1, text_.size());
  return text_.substr(begin, end - begin);
}

bool Cursor::IsEscaped(size_t quote) const {
  size_t first = quote;
  while (first > 0 && text_[first - 1] == '\\') {
    --first;
  }
  return (quote - first) % 2 == 1;
}

std::string_view Cursor::SkipWord() {
  const size_t begin = at_;
  at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
  return text_.substr(begin, at_ - begin);
}

}  // namespace kgpu::oci
