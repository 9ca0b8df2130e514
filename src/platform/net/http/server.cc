#include "src/platform/net/http/server.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/net/http/server_peer.h"
#include "src/platform/net/tls/session.h"
#include "src/platform/sys/acceptor.h"

namespace kgpu::http {
namespace {

// Connections past the limit that get an answer at a time; more are just closed.
constexpr size_t kMaxRefused = 16;
constexpr std::chrono::minutes kNotifyAgain{1};
// Connections that wait to be accepted.
constexpr size_t kMinBacklog = 64;
constexpr size_t kMaxBacklog = 4096;

}  // namespace

class Server::Impl : public std::enable_shared_from_this<Server::Impl> {
 public:
  // The next connection's session: null without an identity of ours.
  using SessionSource = std::function<StatusOr<std::unique_ptr<tls::Session>>()>;

  explicit Impl(std::shared_ptr<const ServerSetup> setup) : setup_(std::move(setup)) {}

  StatusOr<std::string> Listen(const std::string& address, mode_t mode, SessionSource tls) {
    const bool is_unix = address.find('/') != std::string::npos;
    ASSIGN_OR_RETURN(sys::Acceptor::Listener listener, Open(address, mode, is_unix));
    ASSIGN_OR_RETURN(std::unique_ptr<sys::Acceptor> acceptor,
                     sys::Acceptor::Create(setup_->loop, std::move(listener),
                                           [this, is_unix, tls = std::move(tls)](UniqueFd socket) {
                                             OnSocket(std::move(socket), is_unix, tls);
                                           }));
    return acceptors_.emplace_back(std::move(acceptor))->path();
  }

  void Stop() {
    acceptors_.clear();
    for (const auto& [number, peer] : std::exchange(peers_, {})) {
      peer->Close();
    }
  }

  void Shutdown() {
    is_shut_down_ = true;
    acceptors_.clear();
    // Copies: a peer may close meanwhile.
    for (const auto& [number, peer] : std::map(peers_)) {
      peer->Shutdown();
    }
  }

  bool may_be_http2() const { return setup_->http2 != nullptr; }

  size_t connections() const {
    return static_cast<size_t>(
        std::ranges::count_if(peers_, [](const auto& entry) { return entry.second->is_active(); }));
  }

  bool is_busy() const {
    return std::ranges::any_of(peers_, [](const auto& entry) {
      return entry.second->is_active() && entry.second->claim() != Claim::kNone;
    });
  }

 private:
  StatusOr<sys::Acceptor::Listener> Open(const std::string& address, mode_t mode,
                                         bool is_unix) const {
    // All that may be served may come at once, after a restart, say.
    const int backlog = static_cast<int>(
        std::max(kMinBacklog, std::min(setup_->options.max_connections, kMaxBacklog)));
    if (is_unix) {
      ASSIGN_OR_RETURN(sys::UnixListener listener,
                       sys::UnixListener::Listen(address, {.mode = mode, .backlog = backlog}));
      return sys::Acceptor::Listener(std::move(listener));
    }
    ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
    ASSIGN_OR_RETURN(sys::TcpListener listener, sys::TcpListener::Listen(tcp, backlog));
    return sys::Acceptor::Listener(std::move(listener));
  }

  void OnSocket(UniqueFd socket, bool is_unix, const SessionSource& tls) {
    if (!tls) {
      return Add(std::move(socket), is_unix, nullptr);
    }
    StatusOr<std::unique_ptr<tls::Session>> session = tls();
    if (!session.ok()) {
      return;
    }
    if (*session != nullptr) {
      GiveUpOldHandshake();
    } else if (!setup_->options.takes_plain) {
      return;
    }
    Add(std::move(socket), is_unix, *std::move(session));
  }

  // Clients that connect and say nothing must not keep others out: who means it is done in
  // milliseconds.
  void GiveUpOldHandshake() {
    const auto is_shaking = [](const auto& entry) { return entry.second->is_shaking_hands(); };
    if (std::cmp_greater_equal(std::ranges::count_if(peers_, is_shaking),
                               setup_->options.max_handshakes)) {
      const auto oldest = std::ranges::find_if(peers_, is_shaking);
      oldest->second->Close();
      peers_.erase(oldest);
    }
  }

  // Closes the client with the least claim: one that sends no request, or does not read its answer.
  // False if there is none.
  bool MakeRoom() {
    ReportFull();
    auto least = peers_.end();
    for (auto at = peers_.begin(); at != peers_.end(); ++at) {
      const ConnectedPeer& peer = *at->second;
      if (peer.is_active() && peer.claim() != Claim::kHandling &&
          (least == peers_.end() || peer.claim() < least->second->claim()) && !peer.has_unread()) {
        least = at;
      }
    }
    if (least == peers_.end()) {
      return false;
    }
    least->second->Close();
    peers_.erase(least);
    return true;
  }

  void ReportFull() {
    const SteadyTime now = setup_->loop.clock().Now();
    if (!reported_full_ || now - *reported_full_ >= kNotifyAgain) {
      reported_full_ = now;
      KGPU_LOG(kWarning, "too many HTTP connections", {"limit", setup_->options.max_connections});
    }
  }

  void Add(UniqueFd socket, bool is_unix, std::unique_ptr<tls::Session> session) {
    const size_t limit = setup_->options.max_connections;
    const bool is_full = connections() >= limit && !MakeRoom();
    if (is_full && peers_.size() >= limit + kMaxRefused) {
      return;
    }
    const uint64_t number = ++last_peer_;
    // Weak: a peer may outlive us in a callback.
    const auto on_http2 = [weak = weak_from_this(), number](Http2Socket http2,
                                                            std::string_view received) {
      if (const auto self = weak.lock()) {
        self->Replace(number, std::move(http2), received);
      }
    };
    const auto peer = std::make_shared<ServerPeer>(setup_, std::move(socket), is_unix,
                                                   std::move(session), on_http2);
    if (is_full) {
      peer->RefuseAsFull();
    }
    Start(number, peer, {});
  }

  // Puts one that speaks HTTP/2 in the place of the peer with this number.
  void Replace(uint64_t number, Http2Socket socket, std::string_view received) {
    peers_.erase(number);
    StatusOr<std::shared_ptr<ConnectedPeer>> peer = setup_->http2(std::move(socket));
    if (!peer.ok()) {
      KGPU_LOG(kWarning, "HTTP/2 connection refused", {"reason", Message(peer.status())});
      return;
    }
    Start(number, *peer, received);
    if (is_shut_down_) {
      (*peer)->Shutdown();
    }
  }

  void Start(uint64_t number, const std::shared_ptr<ConnectedPeer>& peer,
             std::string_view received) {
    peers_.emplace(number, peer);
    const Status started = peer->Start(received, [weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) {
        self->peers_.erase(number);
      }
    });
    if (!started.ok()) {
      peers_.erase(number);
    }
  }

  const std::shared_ptr<const ServerSetup> setup_;
  std::vector<std::unique_ptr<sys::Acceptor>> acceptors_;
  std::map<uint64_t, std::shared_ptr<ConnectedPeer>> peers_;
  uint64_t last_peer_ = 0;
  bool is_shut_down_ = false;
  std::optional<SteadyTime> reported_full_;
};

Server::Server(EventLoop& loop, Handler handler, ServerOptions options, Http2Maker http2)
    : impl_(std::make_shared<Impl>(std::make_shared<const ServerSetup>(
          ServerSetup{.loop = loop,
                      .options = options,
                      .handler = std::move(handler),
                      .handshakes = std::make_shared<HandshakeBudget>(options.max_new_handshakes),
                      .http2 = std::move(http2)}))) {
}

Server::~Server() {
  Stop();
}

StatusOr<std::string> Server::Listen(const std::string& address, mode_t mode) {
  return impl_->Listen(address, mode, nullptr);
}

StatusOr<std::string> Server::ListenTls(const std::string& address, TlsSource tls) {
  std::vector<std::string> protocols;
  if (impl_->may_be_http2()) {
    protocols = {"h2", "http/1.1", "http/1.0"};
  }
  return impl_->Listen(
      address, 0600,
      [source = std::move(tls),
       protocols = std::move(protocols)]() -> StatusOr<std::unique_ptr<tls::Session>> {
        std::shared_ptr<const tls::Context> context = source();
        if (context == nullptr) {
          return nullptr;
        }
        return tls::Session::ForServer(std::move(context), protocols);
      });
}

void Server::Shutdown() {
  impl_->Shutdown();
}

void Server::Stop() {
  impl_->Stop();
}

bool Server::is_busy() const {
  return impl_->is_busy();
}

size_t Server::connections() const {
  return impl_->connections();
}

}  // namespace kgpu::http
