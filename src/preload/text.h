// Text without a C++ library: lines on stderr, and small pieces that strings need.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

// A line of at most 511 bytes, put together from parts; what does not fit is left out.
class Line {
 public:
  Line& Add(const char* text);
  Line& Add(const char* text, size_t size);
  Line& Add(uint64_t number);
  const char* text() const { return text_; }
  size_t size() const { return size_; }
  // Writes "kgpu-share: ", the line and its end to stderr in one call. errno stays.
  void Say() const;

 private:
  char text_[512] = {};
  size_t size_ = 0;
};

// Says `text`, but only the first time that `said` is passed. Any thread.
void SayOnce(bool* said, const Line& line);

size_t Length(const char* text);
bool Equal(const char* one, const char* other);
bool StartsWith(const char* text, const char* prefix);

}  // namespace kgpu::preload
