#include "src/platform/net/h2/server.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::h2 {

Server::Server(EventLoop& loop, Peer::Handler handler, const PeerOptions& options,
               size_t max_connections)
    : loop_(loop),
      handler_(std::make_shared<const Peer::Handler>(std::move(handler))),
      options_(options),
      max_connections_(max_connections) {
}

Server::~Server() {
  acceptors_.clear();
  for (const auto& [number, peer] : std::exchange(peers_, {})) {
    peer->Close();
  }
}

StatusOr<std::string> Server::Listen(const std::string& address, mode_t mode) {
  std::optional<sys::Acceptor::Listener> listener;
  if (address.find('/') != std::string::npos) {
    ASSIGN_OR_RETURN(sys::UnixListener unix_listener,
                     sys::UnixListener::Listen(address, {.mode = mode}));
    listener.emplace(std::move(unix_listener));
  } else {
    ASSIGN_OR_RETURN(const sys::TcpAddress tcp, sys::TcpAddress::Parse(address));
    ASSIGN_OR_RETURN(sys::TcpListener tcp_listener, sys::TcpListener::Listen(tcp));
    listener.emplace(std::move(tcp_listener));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<sys::Acceptor> acceptor,
                   sys::Acceptor::Create(loop_, *std::move(listener),
                                         [this](UniqueFd socket) { OnSocket(std::move(socket)); }));
  return acceptors_.emplace_back(std::move(acceptor))->path();
}

void Server::Shutdown() {
  // Copies: a peer may close meanwhile.
  for (const auto& [number, peer] : std::map(peers_)) {
    peer->Shutdown();
  }
}

bool Server::is_busy() const {
  return std::ranges::any_of(peers_, [](const auto& entry) { return entry.second->is_busy(); });
}

void Server::OnSocket(UniqueFd socket) {
  if (peers_.size() >= max_connections_) {
    KGPU_LOG(kDebug, "too many HTTP/2 connections", {"limit", max_connections_});
    return;
  }
  StatusOr<std::shared_ptr<Peer>> peer =
      Peer::Create(loop_, {.socket = std::move(socket)}, handler_, options_);
  if (!peer.ok()) {
    KGPU_LOG(kWarning, "HTTP/2 connection refused", {"reason", Message(peer.status())});
    return;
  }
  const uint64_t number = ++last_peer_;
  peers_.emplace(number, *peer);
  if (const Status started = (*peer)->Start({}, [this, number] { peers_.erase(number); });
      !started.ok()) {
    peers_.erase(number);
  }
}

}  // namespace kgpu::h2
