// One connection of a server: a ServerConnection with its socket, its watches and its one timer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/connected_peer.h"
#include "src/platform/net/http/server.h"
#include "src/platform/net/http/server_connection.h"
#include "src/platform/net/http/server_line.h"

namespace kgpu::http {

// Limits the handshakes that start within a second: each costs a millisecond of the loop's time.
class HandshakeBudget {
 public:
  explicit HandshakeBudget(size_t limit) : limit_(limit) {}
  bool Take(SteadyTime now) {
    if (!begun_ || now - *begun_ >= std::chrono::seconds(1)) {
      begun_ = now;
      taken_ = 0;
    }
    return taken_++ < limit_;
  }

 private:
  const size_t limit_;
  std::optional<SteadyTime> begun_;
  size_t taken_ = 0;
};

// Shared by all connections of a server. Outlives the server while a peer is in a callback.
struct ServerSetup {
  EventLoop& loop;
  ServerOptions options;
  Server::Handler handler;
  std::shared_ptr<HandshakeBudget> handshakes = nullptr;
  Http2Maker http2 = nullptr;  // null: HTTP/1.1 only
};

class ServerPeer final : public ConnectedPeer, public std::enable_shared_from_this<ServerPeer> {
 public:
  // Called instead of `closed` for a peer that speaks HTTP/2; with its bytes so far.
  using Http2Handler = std::function<void(Http2Socket, std::string_view received)>;

  // `session`: null without TLS.
  ServerPeer(std::shared_ptr<const ServerSetup> setup, UniqueFd socket, bool is_unix,
             std::unique_ptr<tls::Session> session, Http2Handler on_http2);
  ~ServerPeer() override;
  ServerPeer(const ServerPeer&) = delete;
  ServerPeer& operator=(const ServerPeer&) = delete;

  Status Start(std::string_view received, std::function<void()> closed) override;
  // Answers no request, and closes: with code 503, or with GOAWAY once the peer's first bytes say
  // that it speaks HTTP/2. To be called before Start.
  void RefuseAsFull();
  void Close() override;
  void Shutdown() override;
  bool is_active() const override { return !is_lingering_ && !is_refused_; }
  Claim claim() const override;
  bool has_unread() const override;
  bool is_shaking_hands() const override { return line_.is_shaking_hands(); }

  // For the request with this number; false for any other.
  bool IsWaiting(uint64_t request) const;
  void Respond(uint64_t request, Response response);
  void BeginStream(uint64_t request, Response head);
  bool IsStreaming(uint64_t request) const;
  bool Write(uint64_t request, std::string_view bytes);
  void EndStream(uint64_t request);
  // See Stream.
  size_t Pending(uint64_t request) const;
  void OnDrained(uint64_t request, std::function<void()> task);
  // See Responder.
  void OnGone(uint64_t request, std::function<void()> task);
  // Nobody will answer this request.
  void Abandon(uint64_t request);

 private:
  enum class Limit : uint8_t { kNone, kHandshake, kIdle, kHeader, kBody, kWrite, kLinger };

  void OnReadable();
  void OnWritable();
  void OnTimeout();
  // Sends and receives until both would block, then sets the watches. The only place that does
  // either: a handler's call only queues work for it.
  void Pump();
  void Handle();
  bool Flush();
  void Settle();
  void Judge();
  void SettleBodies();
  void SettleRefusal();
  void HandOver();
  void StopWatching();
  void Linger();
  void SettleWatches();
  void SettleTimer();
  Limit LimitNow() const;
  std::chrono::milliseconds TimeOf(Limit limit) const;
  void CloseAndNotify();
  void PostDrained();
  void PostGone();

  WallTime WallNow() const { return setup_->loop.clock().WallNow(); }

  const std::shared_ptr<const ServerSetup> setup_;
  UniqueFd socket_;
  const bool is_unix_;
  const std::string peer_;  // its IP address
  ServerConnection http_;
  ServerLine line_;
  BodyBudget::Share bodies_;
  Http2Handler on_http2_;
  std::function<void()> closed_;
  std::function<void()> drained_;  // of a stream
  std::function<void()> gone_;     // of a request
  uint64_t request_ = 0;           // number of the last request handed out
  bool is_pumping_ = false;
  bool is_lingering_ = false;
  bool is_refused_ = false;
  bool has_progressed_ = false;  // bytes have been sent since the timer was set
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  Timer timer_{setup_->loop};
  std::pair<Limit, uint64_t> timed_{Limit::kNone, 0};  // what the timer limits; of which request
};

}  // namespace kgpu::http
