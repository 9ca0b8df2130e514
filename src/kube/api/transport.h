// What carries HTTP exchanges to the API server: TLS connections in production, memory in tests.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::kube {

// One HTTP exchange with the API server. Destroying it gives it up: no handler is called any more.
// Loop thread only.
class Exchange {
 public:
  virtual ~Exchange() = default;
};

// Never called from Transport::Start. A handler may destroy the exchange.
struct ExchangeHandlers {
  // Once, when the answer's header is there.
  std::function<void(int code, const http::Headers&)> on_head{};
  // Pieces of the body as they come, chunking taken off.
  std::function<void(std::string_view)> on_data{};
  // Once: OK when the body ended as it should, else why not; that may come without on_head.
  std::function<void(Status)> on_end{};
};

// Loop thread only; outlives its exchanges.
class Transport {
 public:
  virtual ~Transport() = default;
  // Sends `request`. Deadlines are the caller's: it destroys an exchange that takes too long.
  virtual std::unique_ptr<Exchange> Start(const http::Request& request,
                                          ExchangeHandlers handlers) = 0;
};

}  // namespace kgpu::kube
