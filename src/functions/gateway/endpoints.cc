#include "src/functions/gateway/endpoints.h"

#include <utility>

namespace kgpu::gateway {
namespace {

// Callers come and go, each with a handshake; the server's default is for a few who stay.
constexpr size_t kMaxHandshakes = 128;
constexpr size_t kMaxNewHandshakes = 400;  // a second: a third of a core

http::ServerOptions PortHttp1Options() {
  http::ServerOptions options = Http1Options();
  options.max_handshakes = kMaxHandshakes;
  options.max_new_handshakes = kMaxNewHandshakes;
  return options;
}

}  // namespace

Endpoints::Endpoints(EventLoop& loop, Gateway& gateway)
    : port_(
          loop,
          [&gateway](const http::Request& request, const http::Responder& responder) {
            gateway.HandleHttp1(request, responder);
          },
          [&gateway](const http::Request& request, const h2::Responder& responder) {
            gateway.HandleHttp2(request, responder);
          },
          {.http = PortHttp1Options(), .h2 = Http2Options()}) {
}

StatusOr<std::string> Endpoints::Listen(const std::string& address, http::Server::TlsSource tls) {
  return tls ? port_.ListenTls(address, std::move(tls)) : port_.Listen(address);
}

}  // namespace kgpu::gateway
