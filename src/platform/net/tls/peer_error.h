// Why a handshake failed, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/tls/openssl.h"

namespace kgpu::tls {

// What a session learns about its peer's certificate. WatchVerification attaches it to an SSL.
struct Verification {
  std::string server_name{};  // the server that a client wants to reach; empty on a server
  Status verdict{};           // why the certificate is not trusted
};

// `verification` must outlive the SSL.
void WatchVerification(SSL* ssl, Verification& verification);

// The error of a session whose last call failed; empties OpenSSL's error queue.
Status SessionError(const Verification& verification);

// The names and addresses that a certificate is valid for.
std::vector<std::string> AlternativeNames(const X509* certificate);

}  // namespace kgpu::tls
