// An HTTP/1.1 server on the loop: several TCP addresses and unix sockets, one handler. Runs on the
// loop's thread, as do its responders and streams; it has no thread of its own.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/body_budget.h"
#include "src/platform/net/http/connected_peer.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/http/parser.h"

namespace kgpu::tls {
class Context;
}

namespace kgpu::http {

struct ServerOptions {
  ParserLimits limits;  // over them: 431 or 413
  // For the bodies of all incomplete requests together; over it: 503. Null: no limit. Servers may
  // share one.
  std::shared_ptr<BodyBudget> bodies{};
  // Judges a request whose header has arrived and whose body has not: the response that it returns
  // is sent, and nothing of the body is received or kept. Such requests are not all that there are:
  // the handler must judge as well. Null: every body is received.
  std::function<std::optional<Response>(const Request&)> judge{};
  // Over it, the oldest connection without a request is closed; 503 if there is none.
  size_t max_connections = 64;
  size_t max_handshakes = 16;      // over it, the oldest one is closed
  size_t max_new_handshakes = 50;  // per second; over it, the connection is closed
  // Also accept plain requests at addresses with TLS: the handler checks has_tls.
  bool takes_plain = false;
  size_t stream_buffer = size_t{1} << 20;              // how far a stream's peer may fall behind
  std::chrono::milliseconds header_timeout{10'000};    // from a request's first byte; then 408
  std::chrono::milliseconds handshake_timeout{5'000};  // for the whole TLS handshake
  // Limits the time without a request (for the first one: header_timeout), for a request's body,
  // and for a peer to accept any bytes of a response.
  std::chrono::milliseconds idle_timeout{60'000};
};

class Answer;

// A response that continues after its head. A handle: copies share one stream. If the last copy is
// destroyed before End, the peer sees that the response is incomplete.
class Stream {
 public:
  // False if the peer is gone, or so slow that the buffer would overflow: it is then disconnected.
  // Never blocks.
  bool Write(std::string_view bytes) const;
  void End() const;
  bool is_open() const;
  // Bytes written that the peer has not accepted yet; 0 if it is gone.
  size_t pending() const;
  // Calls `task` once, from the loop, when the peer has accepted everything or is gone: for a
  // source that pauses meanwhile. Replaces a task that still waits; ignored if the stream is not
  // open.
  void OnDrained(std::function<void()> task) const;

 private:
  friend class Responder;
  explicit Stream(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  std::shared_ptr<Answer> answer_;
};

// Sends the response to one request, now or later. A handle: copies share one responder. If the
// last copy is destroyed without a response, the peer gets code 500.
class Responder {
 public:
  // For requests that do not come from a server.
  explicit Responder(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}

  // The complete response. Ignored if one was sent already or the peer is gone.
  void Send(Response response) const;
  // Starts a response in pieces (chunks, events); head.body is the first piece. The stream for a
  // HEAD request is closed immediately.
  Stream Begin(Response head) const;
  // Whether the peer still waits. It may be gone without our knowing.
  bool is_open() const;
  // Calls `task` once, from the loop, if the peer leaves before the response is complete: its
  // connection broke, or it has ended its side of it. A client that only does the latter may still
  // be answered, but most of those that do have been stopped; nginx and Go see it so, too. Replaces
  // a task that still waits; dropped with the last handle of this request.
  void OnGone(std::function<void()> task) const;

 private:
  std::shared_ptr<Answer> answer_;
};

class Server {
 public:
  // Called once per request, which is the handler's. May destroy the server. An exception becomes
  // code 500.
  using Handler = std::function<void(Request, Responder)>;
  // Our identity for the next TLS client: called for each connection, so that a new certificate
  // takes effect immediately. Null: the connection is closed or, with takes_plain, continues
  // without TLS.
  using TlsSource = std::function<std::shared_ptr<const tls::Context>()>;

  // `loop` must outlive the server. `http2`: serves the connections that speak HTTP/2, which count
  // toward max_connections; null: they are refused.
  Server(EventLoop& loop, Handler handler, ServerOptions options = {}, Http2Maker http2 = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Listens on "127.0.0.1:9401", "[::1]:9401", ":9401" (every address) or the path of a unix
  // socket, which contains a "/"; `mode` is the socket file's. Returns the address; for port 0,
  // with the port that was chosen. Errors: InvalidArgument, AlreadyExists, NotFound,
  // PermissionDenied, FailedPrecondition, ResourceExhausted.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600);
  // The same with TLS at a TCP address.
  StatusOr<std::string> ListenTls(const std::string& address, TlsSource tls);

  // No new connections. Those that are open close once they have the response to their request in
  // progress, or to their first one.
  void Shutdown();
  // Closes everything: requests in progress get no response, responders do nothing. Idempotent.
  void Stop();

  size_t connections() const;
  // Whether a request waits for its response, or a response for its peer to take it.
  bool is_busy() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace kgpu::http
