// kube::Transport over an Api in the same process, in the loop's time: behaves like connections,
// without any. Deterministic under testing/fake_loop.h.
#pragma once

#include <chrono>
#include <memory>

#include "src/kube/api/transport.h"
#include "testing/apiserver/api.h"

namespace kgpu::apiserver {

struct MemoryTransportOptions {
  // From a request to its arrival, and the same for each piece of the response.
  std::chrono::nanoseconds latency{0};
  // The server disconnects a client that has more than this unread.
  size_t max_unread = size_t{64} << 20;
};

// Loop thread only. `loop` and `api` must outlive it; exchanges may outlive it.
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
