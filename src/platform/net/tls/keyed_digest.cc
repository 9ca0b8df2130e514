#include "src/platform/net/tls/keyed_digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

namespace kgpu::tls {

StatusOr<KeyedDigest> KeyedDigest::Create() {
  KeyedDigest digest;
  if (RAND_bytes(digest.key_.data(), static_cast<int>(digest.key_.size())) != 1) {
    return Internal("no random bytes for a key");
  }
  return digest;
}

StatusOr<KeyedDigest::Value> KeyedDigest::Of(std::string_view secret) const {
  Value value{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), value.data(),
           &size) == nullptr ||
      size != value.size()) {
    return Internal("cannot compute the digest of a secret");
  }
  return value;
}

bool KeyedDigest::AreEqual(const Value& a, const Value& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace kgpu::tls
