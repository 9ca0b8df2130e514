// One connection of a server: its socket, its watches and its one timer around a ServerConnection.
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
#include "src/platform/base/unique_fd.h"
#include "src/platform/http/server.h"
#include "src/platform/http/server_connection.h"
#include "src/platform/http/server_line.h"

namespace kgpu::http {

// How many may begin within a second: a handshake costs a millisecond of the loop's time.
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

// What all connections of a server share. Outlives the server where a peer is in a callback.
struct ServerSetup {
  EventLoop& loop;
  ServerOptions options;
  Server::Handler handler;
  std::shared_ptr<HandshakeBudget> handshakes = nullptr;
};

// Owned by the server, and by itself for the time of a callback.
class ServerPeer : public std::enable_shared_from_this<ServerPeer> {
 public:
  // `session`: null without TLS.
  ServerPeer(std::shared_ptr<const ServerSetup> setup, UniqueFd socket, bool is_unix,
             std::unique_ptr<tls::Session> session);
  ~ServerPeer();
  ServerPeer(const ServerPeer&) = delete;
  ServerPeer& operator=(const ServerPeer&) = delete;

  // `closed` is called once, unless Close is.
  void Start(std::function<void()> closed);
  void StartAndRefuse(int code, std::string_view reason, std::function<void()> closed);
  // Idempotent; calls nobody.
  void Close();
  // False for one that only waits for its peer to see the end.
  bool is_active() const { return !is_lingering_ && !is_refused_; }
  // Which of too many goes first: the one with the least.
  enum class Claim : uint8_t {
    kNone,      // it has asked nothing, or nothing new
    kAnswer,    // it takes its answer, or does not
    kHandling,  // its request is being handled: it cannot go
  };
  Claim claim() const;
  bool is_shaking_hands() const { return line_.is_shaking_hands(); }

  // Of the request with this number; another one's is ignored.
  bool IsWaiting(uint64_t request) const;
  void Respond(uint64_t request, Response response);
  void BeginStream(uint64_t request, Response head);
  bool IsStreaming(uint64_t request) const;
  bool Write(uint64_t request, std::string_view bytes);
  void EndStream(uint64_t request);
  // Nobody will answer it any more.
  void Abandon(uint64_t request);

 private:
  enum class Limit : uint8_t { kNone, kHandshake, kIdle, kHeader, kBody, kWrite, kLinger };

  void OnReadable();
  void OnWritable();
  void OnTimeout();
  // Sends what goes, handles what has come, until either has to wait; then waits for the right
  // things. The one place where both happen: a call from a handler only leaves work to it.
  void Pump();
  void Handle();
  bool Flush();
  void Settle();
  void Linger();
  void SettleWatches();
  void SettleTimer();
  Limit LimitNow() const;
  std::chrono::milliseconds TimeOf(Limit limit) const;
  void CloseAndNotify();

  WallTime WallNow() const { return setup_->loop.clock().WallNow(); }

  const std::shared_ptr<const ServerSetup> setup_;
  UniqueFd socket_;
  const bool is_unix_;
  ServerConnection http_;
  ServerLine line_;
  std::function<void()> closed_;
  uint64_t request_ = 0;  // number of the last one that was handed out
  bool is_pumping_ = false;
  bool is_lingering_ = false;
  bool is_refused_ = false;
  bool has_progressed_ = false;  // bytes have gone since the timer was set
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  TimerId timer_ = TimerId::kNone;
  std::pair<Limit, uint64_t> timed_{Limit::kNone, 0};  // what the timer is for, and which request
};

}  // namespace kgpu::http
