#include "src/platform/net/dial/route.h"

#include <memory>
#include <utility>

namespace kgpu::net {

http::Route RouteTo(const Endpoint& endpoint, std::shared_ptr<const tls::Context> tls, Proxy proxy,
                    const DialOptions& options) {
  return {
      .connect = [endpoint, proxy = std::move(proxy), options](
                     EventLoop& loop, http::Route::Connected connected) -> std::shared_ptr<void> {
        return Dial::Start(loop, endpoint, proxy, std::move(connected), options);
      },
      .host = endpoint.authority(),
      .where = endpoint.authority(),
      .tls = std::move(tls),
      .server_name = endpoint.host};
}

}  // namespace kgpu::net
