// Connections to one server that wait for their next exchange.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/client_connection.h"

namespace kgpu::http {

struct IdleOptions {
  size_t max = 1'000;  // what is not used ends after the limit anyway
  // Shorter than the server's limit, so that no request meets the end of its connection.
  std::chrono::milliseconds limit{20'000};
};

// Lives on the loop's thread.
class IdleConnections {
 public:
  // `loop` must outlive it.
  IdleConnections(EventLoop& loop, const IdleOptions& options) : loop_(loop), options_(options) {}
  ~IdleConnections();
  IdleConnections(const IdleConnections&) = delete;
  IdleConnections& operator=(const IdleConnections&) = delete;

  // The one that was used last; null if there is none.
  std::shared_ptr<ClientConnection> Take();
  // Closes it, or an older one, if there are too many, or if no exchange may follow on it.
  void Keep(std::shared_ptr<ClientConnection> connection);
  size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    std::shared_ptr<ClientConnection> connection;
    SteadyTime since;
  };
  void DropOld();

  EventLoop& loop_;
  const IdleOptions options_;
  std::vector<Idle> idle_;  // the one used last is at the end
  Timer timer_{loop_};
};

}  // namespace kgpu::http
