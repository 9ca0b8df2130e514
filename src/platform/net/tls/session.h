// One TLS connection over memory: bytes from the peer go in, bytes for it come out. Knows no
// sockets and no time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::tls {

// The name in a verified certificate.
struct PeerName {
  std::string common_name{};
  std::vector<std::string> organizations{};
};

// Used by one thread at a time. Its functions are virtual so that a program that links a server,
// and never asks it for TLS, contains no cryptography.
class Session {
 public:
  // The client's side. The server's certificate must be valid now, come from the context's
  // authorities and list `server_name`, a DNS name or an IP address, among its alternative names;
  // its common name is ignored. The first bytes for the server are available immediately.
  // `protocols`: those that the client speaks inside TLS, best first; empty: it offers none.
  // Errors: InvalidArgument (invalid name).
  static StatusOr<std::unique_ptr<Session>> ForClient(
      std::shared_ptr<const Context> context, const std::string& server_name,
      const std::vector<std::string>& protocols = {});
  // `protocols`: those that the server speaks, best first: a client that offers only others is
  // refused. Empty: offers are ignored. Errors: InvalidArgument (invalid name).
  static StatusOr<std::unique_ptr<Session>> ForServer(
      std::shared_ptr<const Context> context, const std::vector<std::string>& protocols = {});
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Bytes received from the peer. Errors, which end the session: FailedPrecondition (the
  // certificate cannot be trusted, with the reason and the fix; or the peer does not trust ours),
  // Unavailable (no TLS, or broken). TakeOutput has what the peer must be told about it.
  virtual Status Feed(std::string_view bytes);
  // What the peer has sent since the last call, decrypted.
  virtual std::string TakeInput();
  // Sends `text` to the peer; buffered until the handshake is complete.
  virtual Status Write(std::string_view text);
  // Tells the peer that no more data follows.
  virtual void Close();
  // Bytes to send to the peer, added since the last call.
  virtual std::string TakeOutput();

  // Whether the handshake is complete: the peer's identity is verified.
  virtual bool is_open() const;
  // Whether the peer has said that no more data follows; without that, a connection was cut.
  virtual bool has_peer_closed() const;
  // The protocol that both sides agreed on ("h2"), once the handshake is complete; empty if the
  // client offered none. Source: RFC 7301 (ALPN).
  virtual std::string Protocol() const;
  // The peer's name if it has a certificate, once the handshake is complete.
  virtual std::optional<PeerName> Peer() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::tls
