// kube::Transport over an Api in the same process, in the loop's time: what a client sees of
// connections, without any. Deterministic under testing/fake_loop.h.
#pragma once

#include <chrono>
#include <memory>

#include "src/kube/api/transport.h"
#include "testing/apiserver/api.h"

namespace kgpu::apiserver {

struct MemoryTransportOptions {
  // From a request to its arrival, and from each piece of the answer to its.
  std::chrono::nanoseconds latency{0};
  // A client that does not take more than this is cut off by the server.
  size_t max_unread = size_t{64} << 20;
};

// Loop thread only. `loop` and `api` outlive it; exchanges may outlive it.
class MemoryTransport final : public kube::Transport {
 public:
  MemoryTransport(EventLoop& loop, Api& api, MemoryTransportOptions options = {});

  std::unique_ptr<kube::Exchange> Start(const http::Request& request,
                                        kube::ExchangeHandlers handlers) override;

 private:
  EventLoop& loop_;
  Api& api_;
  MemoryTransportOptions options_;
};

}  // namespace kgpu::apiserver
