// One address for HTTP/1.1 and HTTP/2, with or without TLS. Lives on the loop's thread.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/h2/peer.h"
#include "src/platform/net/http/server.h"

namespace kgpu::port {

struct PortOptions {
  // Its limits on connections and on handshakes hold for both protocols together.
  http::ServerOptions http{};
  h2::PeerOptions h2{};
};

// The client chooses. Within TLS by ALPN (RFC 7301: "h2", "http/1.1"): HTTP/2 if it offers both,
// and a client that offers neither is refused. Without ALPN or without TLS by its first bytes:
// those with which every HTTP/2 connection begins (RFC 9113, 3.4), or anything else.
class Port {
 public:
  // `loop` must outlive it.
  Port(EventLoop& loop, http::Server::Handler http1, h2::Peer::Handler http2, PortOptions options);

  // See http::Server.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600) {
    return server_.Listen(address, mode);
  }
  StatusOr<std::string> ListenTls(const std::string& address, http::Server::TlsSource tls) {
    return server_.ListenTls(address, std::move(tls));
  }
  // No new connections, and no new requests on those that have had one: tells HTTP/2 clients to
  // send them elsewhere, and closes a connection once its requests have their responses.
  void Shutdown() { server_.Shutdown(); }
  size_t connections() const { return server_.connections(); }
  // Whether a request waits for its response, or a response for its peer to take it.
  bool is_busy() const { return server_.is_busy(); }

 private:
  http::Server server_;
};

}  // namespace kgpu::port
