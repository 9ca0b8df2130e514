// One side's TLS configuration: whom it trusts and who it is. TLS 1.2 and later only; the peer's
// certificate is always verified, and nothing can switch that off.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::tls {

struct ClientOptions {
  // The authorities, as PEM, that must have signed a server's certificate; no others are trusted.
  std::string ca_pem{};
  // Our own certificate, followed by its intermediates; both empty: none.
  std::string certificate_pem{};
  std::string key_pem{};
};

struct ServerOptions {
  std::string certificate_pem{};
  std::string key_pem{};
  // Clients must present a certificate of these authorities; empty: none is requested.
  std::string client_ca_pem{};
  // A certificate is requested, but clients without one are admitted as anonymous.
  bool is_client_optional = false;
};

// Immutable; shared by its sessions. Thread: any.
class Context {
 public:
  // Errors: InvalidArgument: no PEM, a key that does not match or has a passphrase. The text never
  // contains any part of a key.
  static StatusOr<std::shared_ptr<const Context>> ForClient(const ClientOptions& options);
  static StatusOr<std::shared_ptr<const Context>> ForServer(const ServerOptions& options);

  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  friend class Session;
  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::tls
