// One HTTP/2 connection of a server: a Connection with its socket, its watches and its timer.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/h2/connection.h"
#include "src/platform/net/h2/peer_line.h"
#include "src/platform/net/http/connected_peer.h"
#include "src/platform/net/http/message.h"

namespace kgpu::h2 {

struct PeerOptions {
  Limits limits;
  Judge judge{};                                      // see Connection
  std::chrono::milliseconds first_timeout{10'000};    // until the first request
  std::chrono::milliseconds request_timeout{60'000};  // for each whole request
  std::chrono::milliseconds write_timeout{60'000};  // for the peer to take any bytes of a response
  std::chrono::milliseconds idle_timeout{300'000};  // without a stream
};

class Peer;

// Sends the response to one request, now or later. A handle: copies share one responder. If the
// last one is destroyed before the response is complete, the stream is reset.
class Responder {
 public:
  Responder(std::weak_ptr<Peer> peer, StreamId stream);

  // See Connection.
  void Send(http::Response response, const http::Headers& trailers = {}) const;
  void Begin(http::Response head) const;
  bool Write(std::string_view bytes) const;
  void End(const http::Headers& trailers = {}) const;
  bool is_open() const;
  size_t pending() const;
  // Calls `task` once, from the loop, when nothing is pending or the peer is gone: for a source
  // that pauses meanwhile. Replaces a task that still waits; ignored if the stream is not open,
  // dropped with the last handle.
  void OnDrained(std::function<void()> task) const;
  // The same if the peer leaves before the response is complete: the stream was reset, by either
  // side, or its connection ended.
  void OnGone(std::function<void()> task) const;

 private:
  struct Link;
  std::shared_ptr<Link> link_;
};

// Held by shared_ptr, since a handler may drop it. Lives on the loop's thread.
class Peer final : public http::ConnectedPeer, public std::enable_shared_from_this<Peer> {
 public:
  using Handler = std::function<void(http::Request, Responder)>;

  // `loop` must outlive the peer. Errors: ResourceExhausted.
  static StatusOr<std::shared_ptr<Peer>> Create(EventLoop& loop, http::Http2Socket socket,
                                                std::shared_ptr<const Handler> handler,
                                                const PeerOptions& options);
  ~Peer() override;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // See ConnectedPeer; `received` is without TLS.
  Status Start(std::string_view received, std::function<void()> closed) override;
  void Close() override;
  void Shutdown() override;
  http::Claim claim() const override;
  bool has_unread() const override;
  bool is_active() const override { return !lingers_since_; }
  // Whether requests or responses are in progress.
  bool is_busy() const;

 private:
  friend class Responder;
  Peer(EventLoop& loop, UniqueFd socket, std::shared_ptr<const Handler> handler,
       const PeerOptions& options);
  // Whether it still responds: it has not ended, nor does it wait for the peer to see the end.
  bool is_serving() const { return socket_.is_valid() && !lingers_since_; }
  Status Open(std::unique_ptr<tls::Session> session, bool is_unix);
  http::Response Dated(http::Response response) const;
  void OnReadable();
  void OnReceived(const Status& status);
  // Sends until the socket is full, then sets the watches.
  void Pump();
  bool Flush();
  bool SendSome();
  void Linger();
  void SettleWatches();
  bool Settle(bool wants, WatchId& watch, bool is_read);
  void OnTick();
  void ArmTick();
  void CloseAndNotify();
  void PostDrained();
  void PostGone(StreamId stream);
  void PostAllGone();

  EventLoop& loop_;
  UniqueFd socket_;
  const std::string address_;  // of the client: see http::Request::peer
  const std::shared_ptr<const Handler> handler_;
  const PeerOptions options_;
  // Null once it waits for the peer to see the end.
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PeerLine> line_;
  std::function<void()> closed_;
  // The events that the streams' sources wait for.
  std::map<StreamId, std::function<void()>> drained_;
  std::map<StreamId, std::function<void()>> gone_;
  bool is_receiving_ = false;
  bool is_full_ = false;    // the socket takes no more for now
  bool is_broken_ = false;  // closes once the output is sent
  std::optional<SteadyTime> lingers_since_;
  SteadyTime started_;
  SteadyTime active_;  // when bytes last moved
  WatchId readable_ = WatchId::kNone;
  WatchId writable_ = WatchId::kNone;
  Timer tick_{loop_};
};

}  // namespace kgpu::h2
