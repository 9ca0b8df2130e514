#include "src/preload/text.h"

#include <unistd.h>

#include <cerrno>

namespace kgpu::preload {

Line& Line::Add(const char* text, size_t size) {
  for (size_t at = 0; at < size && size_ + 1 < sizeof(text_); ++at) {
    text_[size_++] = text[at];
  }
  return *this;
}

Line& Line::Add(const char* text) {
  return Add(text, Length(text));
}

Line& Line::Add(uint64_t number) {
  char digits[20];
  size_t count = 0;
  do {
    digits[sizeof(digits) - ++count] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return Add(&digits[sizeof(digits) - count], count);
}

void Line::Say() const {
  const int error = errno;
  Line whole;
  whole.Add("kgpu-share: ").Add(text_, size_);
  whole.text_[whole.size_] = '\n';
  const ssize_t written = write(STDERR_FILENO, whole.text_, whole.size_ + 1);
  (void)written;  // there is nobody else to tell
  errno = error;
}

void SayOnce(bool* said, const Line& line) {
  if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED)) {
    line.Say();
  }
}

size_t Length(const char* text) {
  size_t size = 0;
  while (text[size] != '\0') {
    ++size;
  }
  return size;
}

bool Equal(const char* one, const char* other) {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return *one == *other;
}

bool StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0' && *text == *prefix) {
    ++text;
    ++prefix;
  }
  return *prefix == '\0';
}

}  // namespace kgpu::preload
