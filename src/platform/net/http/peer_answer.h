// The response to one request of one connection of a server, for as long as both exist.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "src/platform/net/http/answer.h"
#include "src/platform/net/http/server_peer.h"

namespace kgpu::http {

class PeerAnswer final : public Answer {
 public:
  PeerAnswer(std::weak_ptr<ServerPeer> peer, uint64_t request)
      : peer_(std::move(peer)), request_(request) {}
  ~PeerAnswer() override {
    if (const auto peer = peer_.lock()) {
      peer->Abandon(request_);
    }
  }
  PeerAnswer(const PeerAnswer&) = delete;
  PeerAnswer& operator=(const PeerAnswer&) = delete;

  void Send(Response response) override {
    if (const auto peer = peer_.lock()) {
      peer->Respond(request_, std::move(response));
    }
  }
  void Begin(Response head) override {
    if (const auto peer = peer_.lock()) {
      peer->BeginStream(request_, std::move(head));
    }
  }
  bool Write(std::string_view bytes) override {
    const auto peer = peer_.lock();
    return peer && peer->Write(request_, bytes);
  }
  void End() override {
    if (const auto peer = peer_.lock()) {
      peer->EndStream(request_);
    }
  }
  bool is_waiting() const override {
    const auto peer = peer_.lock();
    return peer && peer->IsWaiting(request_);
  }
  bool is_streaming() const override {
    const auto peer = peer_.lock();
    return peer && peer->IsStreaming(request_);
  }
  size_t pending() const override {
    const auto peer = peer_.lock();
    return peer ? peer->Pending(request_) : 0;
  }
  void OnDrained(std::function<void()> task) override {
    if (const auto peer = peer_.lock()) {
      peer->OnDrained(request_, std::move(task));
    }
  }
  void OnGone(std::function<void()> task) override {
    if (const auto peer = peer_.lock()) {
      peer->OnGone(request_, std::move(task));
    }
  }

 private:
  const std::weak_ptr<ServerPeer> peer_;
  const uint64_t request_;
};

}  // namespace kgpu::http
