// Connections to the function service: kept open between requests, and never a request sent twice.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/idle_connections.h"
#include "src/platform/net/http/message.h"

namespace kgpu::gateway {

struct UpstreamOptions {
  std::string socket{};        // of the function service
  size_t max_exchanges = 900;  // the service takes 1,024 connections
  size_t max_idle = 900;       // with fewer, as many callers would cost a new one each
  // Of large requests, that the service has not taken yet: it may be slower than its callers.
  size_t max_unsent = size_t{256} << 20;
  // The service closes an idle connection after 60 s: ours is gone by then, so that no request
  // meets the end of its connection.
  std::chrono::milliseconds idle_limit{20'000};
  // How long a service that does not accept connections, as it restarts, say, is waited for.
  std::chrono::milliseconds connect_limit{1'000};
  std::chrono::milliseconds connect_pause{50};
};

// Lives on the loop's thread.
class Upstream {
 public:
  // A request and its answer. Destroying it ends both: the service sees that nobody waits.
  class Exchange {
   public:
    ~Exchange();
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    // Whether the service may have seen any of the request.
    bool was_handed_over() const;
    // See http::ClientConnection.
    void Pause();
    Status Resume();

   private:
    friend class Upstream;
    class Impl;
    explicit Exchange(std::shared_ptr<Impl> impl);
    std::shared_ptr<Impl> impl_;
  };

  // `loop` must outlive this.
  Upstream(EventLoop& loop, UpstreamOptions options);
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  // Handlers are called from the loop, never from here, and may destroy the exchange; on_end is
  // called once. Errors of on_end: those of ClientConnection, and if nothing was handed over
  // Unavailable (the service does not run: with the fix), PermissionDenied, InvalidArgument (the
  // request cannot be written), ResourceExhausted (too many exchanges). This must outlive the
  // exchange.
  std::unique_ptr<Exchange> Start(http::Request request, http::ExchangeHandlers handlers);

  size_t idle() const { return idle_.size(); }
  size_t exchanges() const { return exchanges_; }

 private:
  size_t Unsent() const;

  EventLoop& loop_;
  const UpstreamOptions options_;
  http::IdleConnections idle_;
  size_t exchanges_ = 0;
  std::set<const Exchange::Impl*> large_;  // those whose bytes may wait to be taken
};

}  // namespace kgpu::gateway
