// Calls by HTTP: every path but /_/…, which tells how the watchdog is. Lives on the loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/functions/watchdog/call.h"
#include "src/functions/watchdog/pool.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/net/http/body_budget.h"
#include "src/platform/net/http/server.h"

namespace kgpu::watchdog {

// The status code of a failed call.
int HttpCode(FaultKind kind);
// Plain text, with Kgpu-Fault and, where the call may be tried again, Retry-After.
http::Response FaultResponse(const Fault& fault);

// A name for a call whose caller gave none.
std::string NewCallId(Random& random);
// Whether a caller's name can be used: up to 128 letters, digits and "-_.:/".
bool IsCallId(std::string_view text);

class HttpFront {
 public:
  struct Options {
    size_t max_body = size_t{16} << 20;
    uint64_t max_output = uint64_t{64} << 20;
    std::shared_ptr<http::BodyBudget> bodies{};  // see http::ServerOptions
  };

  // `loop` and `pool` must outlive the front.
  HttpFront(EventLoop& loop, Pool& pool, const Options& options);
  ~HttpFront();

  // See http::Server. Everybody who can reach a unix socket's folder may connect. Returns the
  // address.
  StatusOr<std::string> Listen(const std::string& address);
  // Whether a caller still waits for bytes of its answer.
  bool is_busy() const { return server_.is_busy(); }

 private:
  void Handle(http::Request& request, const http::Responder& responder);
  void StartCall(http::Request& request, const http::Responder& responder);
  http::Response Own(const http::Request& request) const;
  http::Response StatusPage() const;

  EventLoop& loop_;
  Pool& pool_;
  Random random_;
  const WallTime started_;
  http::Server server_;
};

}  // namespace kgpu::watchdog
