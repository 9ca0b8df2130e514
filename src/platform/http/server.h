// An HTTP/1.1 server on the loop: several TCP addresses and unix sockets, one handler. Lives on the
// loop's thread, as do its responders and streams; it has no thread of its own.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/http/message.h"
#include "src/platform/http/parser.h"

namespace kgpu::tls {
class Context;
}

namespace kgpu::http {

struct ServerOptions {
  ParserLimits limits;  // past them: 431 or 413
  // Past it the oldest connection goes whose peer is asking nothing; 503 when there is none.
  size_t max_connections = 64;
  size_t max_handshakes = 16;      // past it the oldest one is given up
  size_t max_new_handshakes = 50;  // within a second: past it the connection is closed
  // At addresses with TLS, requests without it come too: the handler looks at has_tls.
  bool takes_plain = false;
  size_t stream_buffer = size_t{1} << 20;              // what a stream's peer may be behind
  std::chrono::milliseconds header_timeout{10'000};    // from a request's first byte: 408
  std::chrono::milliseconds handshake_timeout{5'000};  // for all of TLS's
  // Without a request (the first one: header_timeout), or for its body, or in which a peer must
  // take some bytes of an answer.
  std::chrono::milliseconds idle_timeout{60'000};
};

class Answer;

// An answer that goes on after its head. A handle: copies are one stream. When the last one goes
// before End, the peer sees that the answer is not whole.
class Stream {
 public:
  // False when the peer has gone, or is so slow that more would not fit the buffer: it is
  // disconnected then. Never waits.
  bool Write(std::string_view bytes) const;
  void End() const;
  bool is_open() const;

 private:
  friend class Responder;
  explicit Stream(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  std::shared_ptr<Answer> answer_;
};

// Takes the answer to one request, now or later. A handle: copies are one responder. When the last
// one goes without an answer, the peer gets code 500.
class Responder {
 public:
  // The whole answer. The second one is ignored, as is one to a peer that has gone.
  void Send(Response response) const;
  // An answer in pieces (chunks, events); head.body is the first. A HEAD request's stream is
  // closed at once.
  Stream Begin(Response head) const;
  // Whether the peer still waits. It may have gone without our knowing.
  bool is_open() const;

 private:
  friend class ServerPeer;
  explicit Responder(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  std::shared_ptr<Answer> answer_;
};

class Server {
 public:
  // Called once for each request. It may destroy the server. What it throws becomes code 500.
  using Handler = std::function<void(const Request&, Responder)>;
  // Who we are to the next client that speaks TLS: asked for each connection, so that a new
  // certificate counts at once. Null: the connection is closed, or with takes_plain goes on without
  // TLS.
  using TlsSource = std::function<std::shared_ptr<const tls::Context>()>;

  // `loop` outlives the server.
  Server(EventLoop& loop, Handler handler, ServerOptions options = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on "127.0.0.1:9401", "[::1]:9401", ":9401" (every address) or a unix socket's path,
  // which has a "/"; `mode` is that of the socket file. Returns where it listens: for port 0 the
  // one that was free. Errors: InvalidArgument, AlreadyExists, NotFound, PermissionDenied,
  // FailedPrecondition, ResourceExhausted.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600);
  // The same with TLS at a TCP address.
  StatusOr<std::string> ListenTls(const std::string& address, TlsSource tls);

  // Closes everything: requests in progress get no answer, their responders do nothing. Idempotent.
  void Stop();

  size_t connections() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::http
