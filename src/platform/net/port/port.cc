#include "src/platform/net/port/port.h"

#include <memory>
#include <utility>

namespace kgpu::port {
namespace {

http::Http2Maker MakerOf(EventLoop& loop, h2::Peer::Handler handler,
                         const h2::PeerOptions& options) {
  return [&loop, options, shared = std::make_shared<const h2::Peer::Handler>(std::move(handler))](
             http::Http2Socket socket) -> StatusOr<std::shared_ptr<http::ConnectedPeer>> {
    return h2::Peer::Create(loop, std::move(socket), shared, options);
  };
}

}  // namespace

Port::Port(EventLoop& loop, http::Server::Handler http1, h2::Peer::Handler http2,
           PortOptions options)
    : server_(loop, std::move(http1), options.http, MakerOf(loop, std::move(http2), options.h2)) {
}

}  // namespace kgpu::port
