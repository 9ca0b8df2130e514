// Splits PTX text into words and marks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::ptx {

struct Token {
  const char* text = nullptr;
  size_t size = 0;  // 0: the end of the text
  uint32_t line = 0;

  bool Is(const char* word) const;
  bool IsEnd() const { return size == 0; }
};

class Scanner {
 public:
  Scanner(const char* text, size_t size) : at_(text), end_(text + size) {}
  // A word (letters, digits, _ $ % .) or one other character.
  Token Next();

 private:
  void SkipBlanks();

  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
};

}  // namespace kgpu::ptx
