// What one side of TLS connections is: whom it trusts and who it is. TLS 1.2 and later only, and
// the peer's certificate is always verified; there is no switch for that.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"

namespace kgpu::tls {

struct ClientOptions {
  // The authorities that a server's certificate must come from, as PEM; others are never trusted.
  std::string ca_pem{};
  // Our own, with what leads to its authority behind it; both empty: none.
  std::string certificate_pem{};
  std::string key_pem{};
};

struct ServerOptions {
  std::string certificate_pem{};
  std::string key_pem{};
  // Clients must show a certificate of these authorities; empty: none is asked for.
  std::string client_ca_pem{};
  // One is asked for, and who has none is let in as nobody.
  bool is_client_optional = false;
};

// Immutable; shared by its sessions. Thread: any.
class Context {
 public:
  // Errors: InvalidArgument: no PEM, a key that does not fit or has a passphrase. The text holds
  // nothing of a key.
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
