// Why a handshake failed, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/tls/openssl.h"

namespace kgpu::tls {

// What a session learns of its peer's certificate. Hung on an SSL by WatchVerification.
struct Verification {
  std::string server_name{};  // whom a client wanted to reach; empty for a server
  Status verdict{};           // why the certificate is not trusted
};

// `verification` outlives the SSL.
void WatchVerification(SSL* ssl, Verification& verification);

// Of a session whose last call failed; takes OpenSSL's queue of errors.
Status SessionError(const Verification& verification);

// The names and addresses that a certificate is for.
std::vector<std::string> AlternativeNames(const X509* certificate);

}  // namespace kgpu::tls
