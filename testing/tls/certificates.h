// Certificates made on the spot: authorities, servers and clients, valid and not.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu {

struct TestCertificate {
  std::string certificate_pem;
  std::string key_pem;
};

struct LeafOptions {
  std::string common_name = "test";
  std::vector<std::string> organizations{};
  // DNS names and IP addresses.
  std::vector<std::string> names{};
  bool is_client = false;
  // From now.
  std::chrono::seconds valid_from = std::chrono::hours(-1);
  std::chrono::seconds valid_until = std::chrono::hours(24);
};

// An authority with a key of its own (P-256).
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority");
  ~TestAuthority();
  TestAuthority(TestAuthority&&) noexcept;
  TestAuthority& operator=(TestAuthority&&) = delete;
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate_pem() const;
  TestCertificate Issue(const LeafOptions& options) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A key of its own, in a PEM that needs a passphrase.
std::string TestEncryptedKey();

}  // namespace kgpu
