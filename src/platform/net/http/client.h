// HTTP calls: one connection per call, with a deadline and a size limit for the response.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/message.h"
#include "src/platform/net/tls/context.h"

namespace kgpu::http {

struct CallOptions {
  std::chrono::milliseconds timeout{10'000};  // for the whole call; 0: none
  size_t max_header = size_t{64} << 10;
  size_t max_body = size_t{16} << 20;
};

// The way to a server. net::RouteTo (net/dial) makes one for a name, with TLS or a proxy.
struct Route {
  // Starts to connect, and calls `connected` once, perhaps before it returns. What it returns is
  // destroyed to give up.
  using Connected = std::function<void(StatusOr<UniqueFd>)>;
  using Connect = std::function<std::shared_ptr<void>(EventLoop&, Connected connected)>;

  Connect connect{};
  std::string host{};                         // for the Host field
  std::string where{};                        // for errors
  std::shared_ptr<const tls::Context> tls{};  // null: without TLS
  std::string server_name{};                  // that the certificate must have

  // To "127.0.0.1:9401", or to a unix socket by its path, which contains a "/". A wrong address is
  // an error of the call.
  static Route To(const std::string& address);
};

// A call in progress. Destroying it cancels it: no handler is called then. Loop thread only.
class Call {
 public:
  // Any HTTP response is a Response, whatever its code. Errors: InvalidArgument (address or
  // request), NotFound (no such socket or name), Unavailable (nobody listens; the response is
  // truncated or not HTTP), DeadlineExceeded, OutOfRange (response over the limit),
  // PermissionDenied.
  using Done = std::function<void(StatusOr<Response>)>;

  // Sends `request`. `done` is called once, from the loop and never from within Start; it may
  // destroy the call. `loop` must outlive the call.
  static std::unique_ptr<Call> Start(EventLoop& loop, const Route& route, const Request& request,
                                     Done done, const CallOptions& options = {});
  static std::unique_ptr<Call> Start(EventLoop& loop, const std::string& address,
                                     const Request& request, Done done,
                                     const CallOptions& options = {}) {
    return Start(loop, Route::To(address), request, std::move(done), options);
  }
  // The same, with the response handed on as it arrives. Any handler may destroy the call; on_end
  // has the errors of Done.
  static std::unique_ptr<Call> Stream(EventLoop& loop, const Route& route, const Request& request,
                                      ExchangeHandlers handlers, const CallOptions& options = {});
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  class Impl;
  explicit Call(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The same for programs without a loop: blocks until the response is there.
StatusOr<Response> Fetch(const Route& route, const Request& request,
                         const CallOptions& options = {});
inline StatusOr<Response> Fetch(const std::string& address, const Request& request,
                                const CallOptions& options = {}) {
  return Fetch(Route::To(address), request, options);
}

}  // namespace kgpu::http
