// Secrets as fixed-size values that reveal nothing about them: for cache keys and comparisons.
#pragma once

#include <array>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::tls {

// Digests under one random key, which is created with the object and never leaves it: digests of
// another object, or of another run, are unrelated. Thread: any.
class KeyedDigest {
 public:
  using Value = std::array<unsigned char, 32>;

  // Errors: Internal (no random bytes available).
  static StatusOr<KeyedDigest> Create();

  // HMAC-SHA-256. Errors: Internal.
  StatusOr<Value> Of(std::string_view secret) const;
  // Takes the same time whether they are equal or not.
  static bool AreEqual(const Value& a, const Value& b);

 private:
  KeyedDigest() = default;
  Value key_{};
};

}  // namespace kgpu::tls
