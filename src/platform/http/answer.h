// Shared by responders and streams: the link to one request of one connection, for as long as both
// exist.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "src/platform/http/server_peer.h"

namespace kgpu::http {

// The last owner abandons the request on destruction.
class Answer {
 public:
  Answer(std::weak_ptr<ServerPeer> peer, uint64_t request)
      : peer_(std::move(peer)), request_(request) {}
  ~Answer() {
    if (const auto peer = peer_.lock()) {
      peer->Abandon(request_);
    }
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  std::shared_ptr<ServerPeer> peer() const { return peer_.lock(); }
  uint64_t request() const { return request_; }

 private:
  std::weak_ptr<ServerPeer> peer_;
  uint64_t request_;
};

}  // namespace kgpu::http
