// Secrets as fixed-size values that tell nothing of them: for keys of caches and for comparing.
#pragma once

#include <array>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::tls {

// Digests of one key, which is made up with it and never leaves it: those of another one, or of
// another run, have nothing in common. Thread: any.
class KeyedDigest {
 public:
  using Value = std::array<unsigned char, 32>;

  // Errors: Internal (no random bytes can be had).
  static StatusOr<KeyedDigest> Create();

  // HMAC-SHA-256. Errors: Internal.
  StatusOr<Value> Of(std::string_view secret) const;
  // In the same time whether they are alike or not.
  static bool AreEqual(const Value& a, const Value& b);

 private:
  KeyedDigest() = default;
  Value key_{};
};

}  // namespace kgpu::tls
