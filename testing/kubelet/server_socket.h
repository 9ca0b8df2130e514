// A listening unix socket like those of Go servers: its file appears at Bind, peers are accepted
// from Listen on, and the file stays behind when the server dies.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::kubelet {

// Lives on the loop's thread.
class ServerSocket {
 public:
  using Handler = std::function<void(UniqueFd)>;

  // First removes a file at `path`. `handler` gets each connection, non-blocking. Until Listen,
  // peers are refused. `loop` must outlive the socket. Errors: as ErrnoStatus.
  static StatusOr<std::unique_ptr<ServerSocket>> Bind(EventLoop& loop, const std::string& path,
                                                      Handler handler);
  ~ServerSocket();
  ServerSocket(const ServerSocket&) = delete;
  ServerSocket& operator=(const ServerSocket&) = delete;

  Status Listen();
  // Cuts every connection; the socket keeps listening.
  void CutConnections();

 private:
  ServerSocket(EventLoop& loop, UniqueFd fd, Handler handler)
      : loop_(loop), fd_(std::move(fd)), handler_(std::move(handler)) {}
  void Accept();

  EventLoop& loop_;
  UniqueFd fd_;
  Handler handler_;
  WatchId watch_ = WatchId::kNone;
  std::vector<UniqueFd> connections_;  // second descriptors, for cutting them
};

}  // namespace kgpu::kubelet
