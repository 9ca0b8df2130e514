// The addresses that a gateway listens on. Lives on the loop's thread.
#pragma once

#include <string>

#include "src/functions/gateway/gateway.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/h2/server.h"
#include "src/platform/http/server.h"

namespace kgpu::gateway {

class Endpoints {
 public:
  // `loop` and `gateway` must outlive it.
  Endpoints(EventLoop& loop, Gateway& gateway);

  // See http::Server. REST by HTTP/1.1; with TLS if `tls` is not null.
  StatusOr<std::string> Listen(const std::string& address, http::Server::TlsSource tls);
  // gRPC, and REST by HTTP/2, without TLS.
  StatusOr<std::string> ListenHttp2(const std::string& address);
  // Callers by HTTP/2 send their next requests elsewhere.
  void Shutdown() { http2_.Shutdown(); }
  // Whether answers are on their way to callers.
  bool is_busy() const { return http1_.is_busy() || http2_.is_busy(); }

 private:
  http::Server http1_;
  h2::Server http2_;
};

}  // namespace kgpu::gateway
