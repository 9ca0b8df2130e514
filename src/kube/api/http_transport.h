// Exchanges over connections to one API server: few connections, reused, closed when idle.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/kube/api/transport.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/dial/dialer.h"
#include "src/platform/net/dial/endpoint.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::kube {

// Whom we trust and our certificate, at this moment.
struct Trust {
  std::shared_ptr<const tls::Context> context{};
  uint64_t generation = 0;  // if it changes, older connections are not reused
};
// Called before each exchange; reads what has changed. Errors: FailedPrecondition, InvalidArgument.
using TrustSource = std::function<StatusOr<Trust>()>;

struct HttpTransportOptions {
  net::Endpoint endpoint{};
  net::Proxy proxy{};
  std::string server_name{};  // required in the certificate; empty: the endpoint's host
  // A watch occupies one; over the limit, exchanges wait.
  size_t max_connections = 16;
  size_t max_idle = 2;
  std::chrono::milliseconds idle_timeout{60'000};
  net::DialOptions dial{};
};

class HttpTransport final : public Transport {
 public:
  // `loop` must outlive the transport. `trust` is not called for plain HTTP.
  HttpTransport(EventLoop& loop, HttpTransportOptions options, TrustSource trust);
  ~HttpTransport() override;

  std::unique_ptr<Exchange> Start(const http::Request& request, ExchangeHandlers handlers) override;
  size_t idle_connections() const;

 private:
  class Pool;
  class Job;
  class Handle;
  std::shared_ptr<Pool> pool_;
};

}  // namespace kgpu::kube
