#include "src/platform/net/h2/peer.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/net/http/writer.h"
#include "src/platform/sys/tcp_socket.h"

namespace kgpu::h2 {
namespace {

constexpr size_t kReceiveSize = size_t{64} << 10;
// How exact the timeouts are.
constexpr std::chrono::milliseconds kTick{1'000};
// A socket that is closed with unread bytes takes what it has sent back from the peer, the reason
// for the end among it: so the rest is read, for this long.
constexpr std::chrono::milliseconds kLingerTime{1'000};

}  // namespace

struct Responder::Link {
  Link(std::weak_ptr<Peer> link_peer, StreamId link_stream)
      : peer(std::move(link_peer)), stream(link_stream) {}
  ~Link() {
    if (const auto any = peer.lock()) {
      any->drained_.erase(stream);
      any->gone_.erase(stream);
    }
    if (const auto live = Open()) {
      live->connection_->Reset(stream);
      live->Pump();
    }
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // The peer, if the stream still waits for the rest of its response.
  std::shared_ptr<Peer> Open() const {
    std::shared_ptr<Peer> live = peer.lock();
    return live && live->is_serving() && live->connection_->IsOpen(stream) ? live : nullptr;
  }

  const std::weak_ptr<Peer> peer;
  const StreamId stream;
};

Responder::Responder(std::weak_ptr<Peer> peer, StreamId stream)
    : link_(std::make_shared<Link>(std::move(peer), stream)) {
}

void Responder::Send(http::Response response, const http::Headers& trailers) const {
  if (const auto peer = link_->Open()) {
    peer->gone_.erase(link_->stream);
    peer->connection_->Respond(link_->stream, peer->Dated(std::move(response)), trailers);
    peer->Pump();
  }
}

void Responder::Begin(http::Response head) const {
  if (const auto peer = link_->Open()) {
    peer->connection_->Begin(link_->stream, peer->Dated(std::move(head)));
    peer->Pump();
  }
}

bool Responder::Write(std::string_view bytes) const {
  const auto peer = link_->Open();
  if (!peer || !peer->connection_->Write(link_->stream, bytes)) {
    return false;
  }
  peer->Pump();
  return is_open();
}

void Responder::End(const http::Headers& trailers) const {
  if (const auto peer = link_->Open()) {
    peer->drained_.erase(link_->stream);
    peer->gone_.erase(link_->stream);
    peer->connection_->End(link_->stream, trailers);
    peer->Pump();
  }
}

bool Responder::is_open() const {
  return link_->Open() != nullptr;
}

size_t Responder::pending() const {
  const auto peer = link_->Open();
  return peer ? peer->connection_->Pending(link_->stream) : 0;
}

void Responder::OnDrained(std::function<void()> task) const {
  if (const auto peer = link_->Open()) {
    peer->drained_[link_->stream] = std::move(task);
    peer->PostDrained();
  }
}

void Responder::OnGone(std::function<void()> task) const {
  if (const auto peer = link_->Open()) {
    peer->gone_[link_->stream] = std::move(task);
  }
}

// Source: RFC 9110, 6.6.1.
http::Response Peer::Dated(http::Response response) const {
  if (!response.headers.Find("date")) {
    response.headers.Add("date", http::HttpDate(loop_.clock().WallNow()));
  }
  return response;
}

StatusOr<std::shared_ptr<Peer>> Peer::Create(EventLoop& loop, http::Http2Socket socket,
                                             std::shared_ptr<const Handler> handler,
                                             const PeerOptions& options) {
  std::shared_ptr<Peer> peer(new Peer(loop, std::move(socket.socket), std::move(handler), options));
  RETURN_IF_ERROR(peer->Open(std::move(socket.session), socket.is_unix));
  return peer;
}

Status Peer::Open(std::unique_ptr<tls::Session> session, bool is_unix) {
  const bool has_tls = session != nullptr;
  const auto handle = [this, has_tls, is_unix](StreamId stream, http::Request request) {
    request.peer = address_;
    request.has_tls = has_tls;
    request.is_from_unix_socket = is_unix;
    const Responder responder(weak_from_this(), stream);
    const std::string path = request.path;
    try {
      (*handler_)(std::move(request), responder);
    } catch (const std::exception& e) {
      KGPU_LOG(kError, "HTTP/2 handler threw an exception", {"path", path}, {"what", e.what()});
    }
  };
  const auto on_reset = [this](StreamId stream) { PostGone(stream); };
  ASSIGN_OR_RETURN(connection_, Connection::Create(options_.limits, {.on_request = handle,
                                                                     .on_reset = on_reset,
                                                                     .judge = options_.judge}));
  line_ = std::make_unique<PeerLine>(*connection_, std::move(session));
  return OkStatus();
}

Peer::Peer(EventLoop& loop, UniqueFd socket, std::shared_ptr<const Handler> handler,
           const PeerOptions& options)
    : loop_(loop),
      socket_(std::move(socket)),
      address_(sys::PeerAddress(socket_.get())),
      handler_(std::move(handler)),
      options_(options),
      started_(loop.clock().Now()),
      active_(started_) {
}

Peer::~Peer() {
  Close();
}

Status Peer::Start(std::string_view received, std::function<void()> closed) {
  ASSIGN_OR_RETURN(readable_, loop_.WatchReadable(socket_.get(), [this] { OnReadable(); }));
  closed_ = std::move(closed);
  ArmTick();
  const auto self = shared_from_this();
  is_receiving_ = true;
  OnReceived(connection_->Receive(received, active_));
  return OkStatus();
}

void Peer::Close() {
  closed_ = nullptr;
  drained_.clear();
  gone_.clear();
  if (!socket_.is_valid()) {
    return;  // not again: the loop may have ended since
  }
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
  tick_.Cancel();
  socket_.Reset();
}

void Peer::CloseAndNotify() {
  const auto self = shared_from_this();
  const std::function<void()> closed = std::exchange(closed_, nullptr);
  auto drained = std::exchange(drained_, {});
  auto gone = std::exchange(gone_, {});
  Close();
  drained_ = std::move(drained);
  gone_ = std::move(gone);
  PostAllGone();
  if (closed) {
    closed();
  }
}

// Tasks run from the loop: the code that writes, and which finds its stream gone, may be what they
// end.
void Peer::PostDrained() {
  for (const auto& [stream, task] : drained_) {
    if (is_serving() && connection_->Pending(stream) > 0) {
      continue;
    }
    loop_.Post([self = shared_from_this(), id = stream] {
      const bool is_behind = self->is_serving() && self->connection_->Pending(id) > 0;
      if (const auto found = self->drained_.find(id); !is_behind && found != self->drained_.end()) {
        self->drained_.extract(found).mapped()();
      }
    });
  }
}

void Peer::PostGone(StreamId stream) {
  if (!gone_.contains(stream)) {
    return;
  }
  loop_.Post([self = shared_from_this(), stream] {
    if (const auto found = self->gone_.find(stream); found != self->gone_.end()) {
      self->gone_.extract(found).mapped()();
    }
  });
}

void Peer::PostAllGone() {
  PostDrained();
  for (const auto& [stream, task] : gone_) {
    PostGone(stream);
  }
}

void Peer::Shutdown() {
  if (!is_serving()) {
    return;
  }
  const auto self = shared_from_this();
  connection_->Shutdown();
  Pump();
}

bool Peer::is_busy() const {
  return is_serving() && connection_->streams() > 0;
}

http::Claim Peer::claim() const {
  if (!is_serving()) {
    return http::Claim::kNone;
  }
  if (connection_->is_handling()) {
    return http::Claim::kHandling;
  }
  return connection_->is_answering() || is_full_ ? http::Claim::kAnswer : http::Claim::kNone;
}

bool Peer::has_unread() const {
  return sys::HasUnread(socket_.get());
}

void Peer::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, kReceiveSize> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills it
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
    return CloseAndNotify();
  }
  if (count < 0 || lingers_since_) {
    return;
  }
  active_ = loop_.clock().Now();
  is_receiving_ = true;
  OnReceived(line_->Receive({bytes.data(), static_cast<size_t>(count)}, active_));
}

void Peer::OnReceived(const Status& status) {
  is_receiving_ = false;
  if (!status.ok()) {
    is_broken_ = true;
    KGPU_LOG(kDebug, "HTTP/2 connection ended", {"reason", Message(status)});
  }
  if (line_->has_peer_closed()) {
    return CloseAndNotify();
  }
  Pump();
}

void Peer::Pump() {
  // Responses made within Receive are sent once, after it.
  if (is_receiving_ || !is_serving()) {
    return;
  }
  const auto self = shared_from_this();
  if (!Flush()) {
    return CloseAndNotify();
  }
  if (!is_full_ && (is_broken_ || line_->has_ended() || connection_->is_finished())) {
    line_->End();
    if (!Flush()) {
      return CloseAndNotify();
    }
    if (!is_full_) {
      Linger();
    }
  }
  SettleWatches();
  PostDrained();
}

void Peer::Linger() {
  lingers_since_ = loop_.clock().Now();
  (void)shutdown(socket_.get(), SHUT_WR);
  // Its requests, of which a peer that is cut off may have sent many, need not wait that long.
  line_.reset();
  connection_.reset();
  PostAllGone();
}

// Until the socket is full. False: the peer is gone.
bool Peer::Flush() {
  while (!is_full_ && !line_->Output().empty()) {
    if (!SendSome()) {
      return false;
    }
  }
  return true;
}

// False: the peer is gone.
bool Peer::SendSome() {
  const std::string_view output = line_->Output();
  const ssize_t count =
      send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    line_->Consume(static_cast<size_t>(count));
    active_ = loop_.clock().Now();
    return true;
  }
  is_full_ = errno == EAGAIN || errno == EWOULDBLOCK;
  return is_full_ || errno == EINTR;
}

void Peer::SettleWatches() {
  // A peer that does not read our answers may not ask for more.
  if (!Settle(!is_full_, readable_, true) || !Settle(is_full_, writable_, false)) {
    CloseAndNotify();
  }
}

bool Peer::Settle(bool wants, WatchId& watch, bool is_read) {
  if (!wants) {
    loop_.Unwatch(std::exchange(watch, WatchId::kNone));
    return true;
  }
  if (watch != WatchId::kNone) {
    return true;
  }
  const StatusOr<WatchId> started =
      is_read ? loop_.WatchReadable(socket_.get(), [this] { OnReadable(); })
              : loop_.WatchWritable(socket_.get(), [this] {
                  const auto self = shared_from_this();
                  is_full_ = false;
                  Pump();
                });
  watch = started.ok() ? *started : WatchId::kNone;
  return started.ok();
}

void Peer::ArmTick() {
  tick_.Arm(kTick, [this] {
    const auto self = shared_from_this();
    OnTick();
  });
}

void Peer::OnTick() {
  const SteadyTime now = loop_.clock().Now();
  if (lingers_since_) {
    return now - *lingers_since_ >= kLingerTime ? CloseAndNotify() : ArmTick();
  }
  const bool is_late = !connection_->has_had_request() && now - started_ >= options_.first_timeout;
  const bool is_idle = connection_->streams() == 0 && now - active_ >= options_.idle_timeout;
  const bool is_stuck = is_full_ && now - active_ >= options_.write_timeout;
  if (is_late || is_idle || is_stuck) {
    return CloseAndNotify();
  }
  connection_->ResetOlderThan(now - options_.request_timeout);
  connection_->ResetStuck(now, options_.write_timeout);
  ArmTick();
  Pump();
}

}  // namespace kgpu::h2
