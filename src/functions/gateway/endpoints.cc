#include "src/functions/gateway/endpoints.h"

#include <utility>

namespace kgpu::gateway {
namespace {

constexpr size_t kMaxHttp2Connections = 256;

}  // namespace

Endpoints::Endpoints(EventLoop& loop, Gateway& gateway)
    : http1_(
          loop,
          [&gateway](const http::Request& request, const http::Responder& responder) {
            gateway.HandleHttp1(request, responder);
          },
          Http1Options()),
      http2_(
          loop,
          [&gateway](const http::Request& request, const h2::Responder& responder) {
            gateway.HandleHttp2(request, responder);
          },
          Http2Options(), kMaxHttp2Connections) {
}

StatusOr<std::string> Endpoints::Listen(const std::string& address, http::Server::TlsSource tls) {
  return tls ? http1_.ListenTls(address, std::move(tls)) : http1_.Listen(address);
}

StatusOr<std::string> Endpoints::ListenHttp2(const std::string& address) {
  return http2_.Listen(address);
}

}  // namespace kgpu::gateway
