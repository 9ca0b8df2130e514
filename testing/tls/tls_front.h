// TLS in front of a plain server: decrypts incoming data and forwards each connection to one of its
// own.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/tls/context.h"
#include "src/platform/sys/tcp_socket.h"

namespace kgpu {

// Lives on the loop's thread.
class TlsFront {
 public:
  // Listens at `address` ("127.0.0.1:0") and forwards to the unix socket `upstream`. `loop` must
  // outlive it.
  static StatusOr<std::unique_ptr<TlsFront>> Listen(EventLoop& loop, const std::string& address,
                                                    std::shared_ptr<const tls::Context> context,
                                                    std::string upstream);
  ~TlsFront();
  TlsFront(const TlsFront&) = delete;
  TlsFront& operator=(const TlsFront&) = delete;

  // Where it listens: "127.0.0.1:4711".
  const std::string& address() const { return address_; }
  // For new connections.
  void SetContext(std::shared_ptr<const tls::Context> context) { context_ = std::move(context); }
  // Closes all open ones, without TLS's proper end.
  void CloseConnections();
  size_t connections() const { return relays_.size(); }
  size_t accepted() const { return accepted_; }

 private:
  class Relay;
  TlsFront(EventLoop& loop, std::shared_ptr<const tls::Context> context, std::string upstream);
  void OnConnection();

  EventLoop& loop_;
  std::shared_ptr<const tls::Context> context_;
  const std::string upstream_;
  std::optional<sys::TcpListener> listener_;
  std::string address_;
  WatchId watch_ = WatchId::kNone;
  std::list<std::unique_ptr<Relay>> relays_;
  size_t accepted_ = 0;
};

}  // namespace kgpu
