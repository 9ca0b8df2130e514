#include "src/functions/gateway/endpoints.h"

#include <memory>
#include <utility>

#include "src/functions/service/service.h"

namespace kgpu::gateway {
namespace {

// Callers come and go, each with a handshake; the server's default is for a few who stay.
constexpr size_t kMaxHandshakes = 128;
constexpr size_t kMaxNewHandshakes = 400;  // a second: a third of a core

port::PortOptions OptionsOfPort(Gateway& gateway) {
  port::PortOptions options{.http = gateway.Http1Options(), .h2 = gateway.Http2Options()};
  options.http.max_handshakes = kMaxHandshakes;
  options.http.max_new_handshakes = kMaxNewHandshakes;
  options.http.bodies = std::make_shared<http::BodyBudget>(functions::kMaxBodies);
  options.h2.limits.all_bodies = options.http.bodies;
  return options;
}

}  // namespace

Endpoints::Endpoints(EventLoop& loop, Gateway& gateway)
    : port_(
          loop,
          [&gateway](http::Request request, const http::Responder& responder) {
            gateway.HandleHttp1(std::move(request), responder);
          },
          [&gateway](http::Request request, const h2::Responder& responder) {
            gateway.HandleHttp2(std::move(request), responder);
          },
          OptionsOfPort(gateway)) {
}

StatusOr<std::string> Endpoints::Listen(const std::string& address, http::Server::TlsSource tls) {
  return tls ? port_.ListenTls(address, std::move(tls)) : port_.Listen(address);
}

}  // namespace kgpu::gateway
