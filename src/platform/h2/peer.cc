#include "src/platform/h2/peer.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <exception>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/tcp_socket.h"

namespace kgpu::h2 {
namespace {

constexpr size_t kReceiveSize = size_t{64} << 10;
// How exact the timeouts are.
constexpr std::chrono::milliseconds kTick{1'000};

}  // namespace

struct Responder::Link {
  Link(std::weak_ptr<Peer> link_peer, StreamId link_stream)
      : peer(std::move(link_peer)), stream(link_stream) {}
  ~Link() {
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
    return live && live->socket_.is_valid() && live->connection_->IsOpen(stream) ? live : nullptr;
  }

  const std::weak_ptr<Peer> peer;
  const StreamId stream;
};

Responder::Responder(std::weak_ptr<Peer> peer, StreamId stream)
    : link_(std::make_shared<Link>(std::move(peer), stream)) {
}

void Responder::Send(http::Response response, const http::Headers& trailers) const {
  if (const auto peer = link_->Open()) {
    peer->connection_->Respond(link_->stream, std::move(response), trailers);
    peer->Pump();
  }
}

void Responder::Begin(http::Response head) const {
  if (const auto peer = link_->Open()) {
    peer->connection_->Begin(link_->stream, std::move(head));
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

StatusOr<std::shared_ptr<Peer>> Peer::Create(EventLoop& loop, UniqueFd socket,
                                             std::shared_ptr<const Handler> handler,
                                             const PeerOptions& options) {
  std::shared_ptr<Peer> peer(new Peer(loop, std::move(socket), std::move(handler), options));
  ASSIGN_OR_RETURN(peer->connection_,
                   Connection::Create(
                       options.limits,
                       {.on_request = [self = peer.get()](StreamId stream, http::Request request) {
                         const Responder responder(self->weak_from_this(), stream);
                         request.peer = self->address_;
                         try {
                           (*self->handler_)(request, responder);
                         } catch (const std::exception& e) {
                           KGPU_LOG(kError, "HTTP/2 handler threw an exception",
                                    {"path", request.path}, {"what", e.what()});
                         }
                       }}));
  return peer;
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
  Receive(received);
  return OkStatus();
}

void Peer::Close() {
  closed_ = nullptr;
  loop_.Unwatch(std::exchange(readable_, WatchId::kNone));
  loop_.Unwatch(std::exchange(writable_, WatchId::kNone));
  loop_.CancelTimer(std::exchange(tick_, TimerId::kNone));
  socket_.Reset();
}

void Peer::CloseAndNotify() {
  const std::function<void()> closed = std::exchange(closed_, nullptr);
  Close();
  if (closed) {
    closed();
  }
}

void Peer::Shutdown() {
  const auto self = shared_from_this();
  connection_->Shutdown();
  Pump();
}

bool Peer::is_busy() const {
  return socket_.is_valid() && connection_->streams() > 0;
}

void Peer::OnReadable() {
  const auto self = shared_from_this();
  std::array<char, kReceiveSize> bytes;  // NOLINT(cppcoreguidelines-init-variables): recv fills it
  const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count > 0) {
    return Receive({bytes.data(), static_cast<size_t>(count)});
  }
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    CloseAndNotify();
  }
}

void Peer::Receive(std::string_view bytes) {
  active_ = loop_.clock().Now();
  is_receiving_ = true;
  const Status status = connection_->Receive(bytes, active_);
  is_receiving_ = false;
  if (!status.ok()) {
    is_broken_ = true;
    KGPU_LOG(kDebug, "HTTP/2 connection ended", {"reason", Message(status)});
  }
  Pump();
}

void Peer::Pump() {
  // What responses from within Receive add is sent once, after it.
  if (is_receiving_ || !socket_.is_valid()) {
    return;
  }
  const auto self = shared_from_this();
  while (!is_full_ && !connection_->Output().empty()) {
    if (!SendSome()) {
      return CloseAndNotify();
    }
  }
  if (!is_full_ && (is_broken_ || connection_->is_finished())) {
    return CloseAndNotify();
  }
  SettleWatches();
}

// False: the peer is gone.
bool Peer::SendSome() {
  const std::string_view output = connection_->Output();
  const ssize_t count =
      send(socket_.get(), output.data(), output.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count >= 0) {
    connection_->Consume(static_cast<size_t>(count));
    active_ = loop_.clock().Now();
    return true;
  }
  is_full_ = errno == EAGAIN || errno == EWOULDBLOCK;
  return is_full_ || errno == EINTR;
}

void Peer::SettleWatches() {
  // A peer that does not read our answers may not ask for more.
  if (!Settle(!is_full_ && !is_broken_, readable_, true) || !Settle(is_full_, writable_, false)) {
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
  tick_ = loop_.After(kTick, [this] {
    const auto self = shared_from_this();
    tick_ = TimerId::kNone;
    OnTick();
  });
}

void Peer::OnTick() {
  const SteadyTime now = loop_.clock().Now();
  const bool is_late = !connection_->has_had_request() && now - started_ >= options_.first_timeout;
  const bool is_idle = connection_->streams() == 0 && now - active_ >= options_.idle_timeout;
  const bool is_stuck = is_full_ && now - active_ >= options_.write_timeout;
  if (is_late || is_idle || is_stuck) {
    return CloseAndNotify();
  }
  connection_->ResetOlderThan(now - options_.request_timeout);
  ArmTick();
  Pump();
}

}  // namespace kgpu::h2
