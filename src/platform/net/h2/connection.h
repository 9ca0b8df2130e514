// A server's side of one HTTP/2 connection as bytes in, requests out, bytes out: no socket and no
// clock of its own. Source: RFC 9113; nghttp2 does the frames and HPACK.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/body_budget.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

using StreamId = int32_t;

struct Limits {
  uint32_t streams = 100;                // at a time
  uint32_t header = uint32_t{64} << 10;  // of one request, as HTTP/2 counts it
  size_t body = size_t{4} << 20;         // of one request; over it: 413, or a reset for gRPC
  size_t bodies = size_t{32} << 20;      // of all that are incomplete; 503, or a reset for gRPC
  size_t output = size_t{256} << 10;     // bytes for the peer that may be ready at a time
  // For the incomplete requests of all connections together, as `bodies`. Null: no limit.
  std::shared_ptr<http::BodyBudget> all_bodies{};
};

// A response and its trailers.
struct Answer {
  http::Response response{};
  http::Headers trailers{};
};

// Judges a request whose header has arrived and whose body has not: with the answer that it returns
// the stream ends, and nothing of the body is kept. The handler must judge as well: other requests
// have no body. Must not use the connection.
using Judge = std::function<std::optional<Answer>(const http::Request&)>;

// Used by one thread at a time. Destroying it calls nothing.
class Connection {
 public:
  struct Handlers {
    // A complete request: as in HTTP/1.1, with its authority as "host". May respond at once.
    std::function<void(StreamId, http::Request)> on_request;
    // The peer gave up a stream that has a request and no complete response; only then.
    std::function<void(StreamId)> on_reset{};
    Judge judge{};  // null: every body is received
  };

  // Errors: ResourceExhausted.
  static StatusOr<std::unique_ptr<Connection>> Create(const Limits& limits, Handlers handlers);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Bytes from the peer. An error ends the connection, once Output is empty: InvalidArgument (not
  // HTTP/2), OutOfRange (the peer costs more than it may: too many streams that it resets, pings,
  // settings, empty frames).
  Status Receive(std::string_view bytes, SteadyTime now);

  // The response: status and headers, then a body, then trailers if there are any. Ignored for a
  // stream that is gone. A response to HEAD, or with code 204 or 304, is sent without its body.
  void Respond(StreamId stream, http::Response response, const http::Headers& trailers = {});
  // The same in pieces: Begin, Write …, End. Write is false if the stream is gone, or its response
  // has no body.
  void Begin(StreamId stream, http::Response head);
  bool Write(StreamId stream, std::string_view bytes);
  void End(StreamId stream, const http::Headers& trailers = {});
  // Ends the stream without a complete response.
  void Reset(StreamId stream);
  // Whether it has a request that waits for the rest of its response.
  bool IsOpen(StreamId stream) const;
  // Bytes written that are not in the output yet: the peer's window, or Limits::output, is full.
  size_t Pending(StreamId stream) const;

  // Sends GOAWAY: no new streams. Those that are open may finish.
  void Shutdown();
  // Resets streams whose request is incomplete since before `time`.
  void ResetOlderThan(SteadyTime time);
  // Resets streams of which the peer has taken nothing for `limit`, although bytes wait: it opens
  // no window. To be called again and again; it compares with the time before.
  void ResetStuck(SteadyTime now, std::chrono::nanoseconds limit);

  // What is to be sent; fills up to Limits::output. Remove what was sent with Consume.
  std::string_view Output();
  void Consume(size_t count);

  size_t streams() const;
  // Whether a complete request waits for its response, or for more of it.
  bool is_handling() const;
  // Whether a complete response waits for the peer to take it.
  bool is_answering() const;
  // Whether a request has been received at all.
  bool has_had_request() const;
  // Nothing more will be received or sent.
  bool is_finished() const;

 private:
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::h2
