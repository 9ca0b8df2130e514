// The addresses that a gateway listens on. Lives on the loop's thread.
#pragma once

#include <string>

#include "src/functions/gateway/gateway.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/server.h"
#include "src/platform/net/port/port.h"

namespace kgpu::gateway {

class Endpoints {
 public:
  // `loop` and `gateway` must outlive it.
  Endpoints(EventLoop& loop, Gateway& gateway);

  // REST and gRPC, by HTTP/1.1 and HTTP/2; with TLS if `tls` is not null. See port::Port.
  StatusOr<std::string> Listen(const std::string& address, http::Server::TlsSource tls);
  // No new connections; callers by HTTP/2 send their next requests elsewhere.
  void Shutdown() { port_.Shutdown(); }
  // Whether answers are on their way to callers.
  bool is_busy() const { return port_.is_busy(); }

 private:
  port::Port port_;
};

}  // namespace kgpu::gateway
