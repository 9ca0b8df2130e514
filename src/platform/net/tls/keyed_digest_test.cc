#include "src/platform/net/tls/keyed_digest.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::tls {
namespace {

TEST(KeyedDigestTest, IsTheSameForTheSameSecret) {
  const KeyedDigest digest = KeyedDigest::Create().value();
  EXPECT_TRUE(KeyedDigest::AreEqual(digest.Of("token").value(), digest.Of("token").value()));
  EXPECT_TRUE(KeyedDigest::AreEqual(digest.Of("").value(), digest.Of("").value()));
}

TEST(KeyedDigestTest, DiffersForAnotherSecretOrKey) {
  const KeyedDigest digest = KeyedDigest::Create().value();
  const KeyedDigest other = KeyedDigest::Create().value();
  EXPECT_FALSE(KeyedDigest::AreEqual(digest.Of("token").value(), digest.Of("tokeN").value()));
  EXPECT_FALSE(KeyedDigest::AreEqual(digest.Of("token").value(), other.Of("token").value()));
}

}  // namespace
}  // namespace kgpu::tls
