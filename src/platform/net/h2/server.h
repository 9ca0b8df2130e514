// An HTTP/2 server on the loop, for clients that know it is one ("prior knowledge"): TCP addresses
// and unix sockets, without TLS. Lives on the loop's thread.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/h2/peer.h"
#include "src/platform/sys/acceptor.h"

namespace kgpu::h2 {

class Server {
 public:
  // `loop` must outlive the server. Over `max_connections`, new ones are closed.
  Server(EventLoop& loop, Peer::Handler handler, const PeerOptions& options,
         size_t max_connections = 64);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // As http::Server's.
  StatusOr<std::string> Listen(const std::string& address, mode_t mode = 0600);
  // Sends GOAWAY to all peers: no more requests.
  void Shutdown();
  bool is_busy() const;

 private:
  void OnSocket(UniqueFd socket);

  EventLoop& loop_;
  const std::shared_ptr<const Peer::Handler> handler_;
  const PeerOptions options_;
  const size_t max_connections_;
  std::vector<std::unique_ptr<sys::Acceptor>> acceptors_;
  std::map<uint64_t, std::shared_ptr<Peer>> peers_;
  uint64_t last_peer_ = 0;
};

}  // namespace kgpu::h2
