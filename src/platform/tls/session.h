// One TLS connection over memory: bytes of the peer go in, bytes for it come out. Knows no sockets
// and no time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/tls/context.h"

namespace kgpu::tls {

// Whom a verified certificate names.
struct PeerName {
  std::string common_name{};
  std::vector<std::string> organizations{};
};

// Of one thread at a time.
class Session {
 public:
  // A client's end. The server's certificate must be valid now, come from the context's authorities
  // and name `server_name`, a DNS name or an IP address, among its alternative names; its common
  // name counts for nothing. The first bytes for the server are there at once.
  // Errors: InvalidArgument (no such name can be).
  static StatusOr<std::unique_ptr<Session>> ForClient(std::shared_ptr<const Context> context,
                                                      const std::string& server_name);
  static StatusOr<std::unique_ptr<Session>> ForServer(std::shared_ptr<const Context> context);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Bytes that came from the peer. Errors, which end the session: FailedPrecondition (a certificate
  // that cannot be trusted, with the reason and the fix; the peer does not trust ours),
  // Unavailable (no TLS, or broken). What the peer must learn about it is in TakeOutput.
  Status Feed(std::string_view bytes);
  // What the peer has said since the last call, deciphered.
  std::string TakeInput();
  // Says `text` to the peer; kept until the handshake is over.
  Status Write(std::string_view text);
  // Tells the peer that nothing more comes.
  void Close();
  // Bytes to send to the peer, since the last call.
  std::string TakeOutput();

  // Whether the handshake is over: the peer is who it must be.
  bool is_open() const;
  // Whether the peer has said that nothing more comes; a connection that ends without was cut.
  bool has_peer_closed() const;
  // Of a peer with a certificate, once the handshake is over.
  std::optional<PeerName> Peer() const;

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::tls
