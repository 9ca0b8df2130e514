// Calls by gRPC, as OpenFx's gateway and functions make them: /pb.FxWatcher/Call; and the health
// check that load balancers know. Lives on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "src/functions/watchdog/call.h"
#include "src/functions/watchdog/pool.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/net/h2/grpc_message.h"
#include "src/platform/net/h2/server.h"
#include "src/platform/net/http/body_budget.h"

namespace kgpu::watchdog {

// The status of a failed call.
h2::GrpcCode GrpcCodeOf(FaultKind kind);

class GrpcFront {
 public:
  // `loop` and `pool` must outlive the front. `bodies`: see h2::Limits::all_bodies.
  GrpcFront(EventLoop& loop, Pool& pool, size_t max_body,
            std::shared_ptr<http::BodyBudget> bodies = nullptr);

  // See h2::Server. Everybody who can reach a unix socket's folder may connect.
  StatusOr<std::string> Listen(const std::string& address);
  // Tells all clients to send their next calls elsewhere.
  void Drain() { server_.Shutdown(); }
  bool is_busy() const { return server_.is_busy(); }

 private:
  void Handle(const http::Request& request, const h2::Responder& responder);
  void StartCall(const http::Request& request, std::string_view message,
                 const h2::Responder& responder);
  void CheckHealth(std::string_view message, const h2::Responder& responder) const;

  EventLoop& loop_;
  Pool& pool_;
  const size_t max_body_;
  Random random_;
  h2::Server server_;
};

}  // namespace kgpu::watchdog
