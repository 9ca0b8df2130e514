// SHA-256 of what an image is made of: equal content gives equal names.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kgpu::functions {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  // A part of a value that comes in parts.
  void AddBytes(std::string_view bytes);
  // A whole value: its length goes in as well, so that "ab", "c" differs from "a", "bc".
  void Add(std::string_view value);
  // All 64 digits. Nothing may be added afterwards.
  std::string Hex();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// As many digits of a digest as tags have.
inline constexpr size_t kTagDigits = 12;

}  // namespace kgpu::functions
