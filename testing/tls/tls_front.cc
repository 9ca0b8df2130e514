#include "testing/tls/tls_front.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/tls/session.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu {
namespace {

// Blocks for a moment when a peer is slow: a test's peers are not.
void SendAll(const UniqueFd& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) {
      return;
    }
    bytes.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
}

}  // namespace

class TlsFront::Relay {
 public:
  Relay(EventLoop& loop, UniqueFd peer, UniqueFd upstream, std::unique_ptr<tls::Session> session,
        std::function<void(Relay*)> closed)
      : loop_(loop),
        peer_(std::move(peer)),
        upstream_(std::move(upstream)),
        session_(std::move(session)),
        closed_(std::move(closed)) {}
  ~Relay() {
    loop_.Unwatch(from_peer_);
    loop_.Unwatch(from_upstream_);
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Status Start() {
    ASSIGN_OR_RETURN(from_peer_, loop_.WatchReadable(peer_.get(), [this] { OnPeer(); }));
    ASSIGN_OR_RETURN(from_upstream_,
                     loop_.WatchReadable(upstream_.get(), [this] { OnUpstream(); }));
    return OkStatus();
  }

 private:
  // closed_ destroys the relay: nothing of it may be touched behind that.
  void OnPeer() {
    std::array<char, 16384> bytes{};
    const ssize_t count = recv(peer_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) {
      return;
    }
    const Status status = count > 0 ? session_->Feed({bytes.data(), static_cast<size_t>(count)})
                                    : Unavailable("closed");
    SendAll(peer_, session_->TakeOutput());
    SendAll(upstream_, session_->TakeInput());
    if (!status.ok() || session_->has_peer_closed()) {
      const auto closed = closed_;
      closed(this);
    }
  }

  void OnUpstream() {
    std::array<char, 16384> bytes{};
    const ssize_t count = recv(upstream_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) {
      return;
    }
    if (count > 0) {
      (void)session_->Write({bytes.data(), static_cast<size_t>(count)});
    } else {
      session_->Close();
    }
    SendAll(peer_, session_->TakeOutput());
    if (count <= 0) {
      const auto closed = closed_;
      closed(this);
    }
  }

  EventLoop& loop_;
  UniqueFd peer_;
  UniqueFd upstream_;
  std::unique_ptr<tls::Session> session_;
  const std::function<void(Relay*)> closed_;
  WatchId from_peer_ = WatchId::kNone;
  WatchId from_upstream_ = WatchId::kNone;
};

StatusOr<std::unique_ptr<TlsFront>> TlsFront::Listen(EventLoop& loop, const std::string& address,
                                                     std::shared_ptr<const tls::Context> context,
                                                     std::string upstream) {
  std::unique_ptr<TlsFront> front(new TlsFront(loop, std::move(context), std::move(upstream)));
  ASSIGN_OR_RETURN(const sys::TcpAddress where, sys::TcpAddress::Parse(address));
  ASSIGN_OR_RETURN(front->listener_, sys::TcpListener::Listen(where));
  front->address_ = front->listener_->address();
  ASSIGN_OR_RETURN(front->watch_, loop.WatchReadable(front->listener_->fd(), [self = front.get()] {
    self->OnConnection();
  }));
  return front;
}

TlsFront::TlsFront(EventLoop& loop, std::shared_ptr<const tls::Context> context,
                   std::string upstream)
    : loop_(loop), context_(std::move(context)), upstream_(std::move(upstream)) {
}

TlsFront::~TlsFront() {
  loop_.Unwatch(watch_);
}

void TlsFront::CloseConnections() {
  relays_.clear();
}

void TlsFront::OnConnection() {
  StatusOr<std::optional<UniqueFd>> peer = listener_->Accept();
  if (!peer.ok() || !peer->has_value()) {
    return;
  }
  StatusOr<UniqueFd> upstream = sys::ConnectUnix(upstream_);
  StatusOr<std::unique_ptr<tls::Session>> session = tls::Session::ForServer(context_);
  if (!upstream.ok() || !session.ok()) {
    return;  // the connection closes
  }
  ++accepted_;
  auto relay = std::make_unique<Relay>(
      loop_, std::move(**peer), *std::move(upstream), *std::move(session), [this](Relay* gone) {
        relays_.remove_if([&](const auto& other) { return other.get() == gone; });
      });
  if (relay->Start().ok()) {
    relays_.push_back(std::move(relay));
  }
}

}  // namespace kgpu
