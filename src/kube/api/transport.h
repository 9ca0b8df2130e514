// Carries HTTP exchanges to the API server: TLS connections in production, memory in tests.
#pragma once

#include <memory>

#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/message.h"

namespace kgpu::kube {

// One HTTP exchange with the API server. Destroying it cancels it: no handler is called any more.
// Loop thread only.
class Exchange {
 public:
  virtual ~Exchange() = default;
};

// Never called from within Transport::Start.
using http::ExchangeHandlers;

// Loop thread only; must outlive its exchanges.
class Transport {
 public:
  virtual ~Transport() = default;
  // Sends `request`. The caller handles deadlines: it destroys an exchange that takes too long.
  virtual std::unique_ptr<Exchange> Start(const http::Request& request,
                                          ExchangeHandlers handlers) = 0;
};

}  // namespace kgpu::kube
