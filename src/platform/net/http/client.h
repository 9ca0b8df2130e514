// HTTP calls to TCP addresses and unix sockets: one connection per call, with a deadline and a size
// limit for the response.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::http {

struct CallOptions {
  std::chrono::milliseconds timeout{10'000};  // for the whole call
  size_t max_header = size_t{64} << 10;
  size_t max_body = size_t{16} << 20;
};

// A call in progress. Destroying it cancels it: `done` is not called then. Loop thread only.
class Call {
 public:
  // Any HTTP response is a Response, whatever its code. Errors: InvalidArgument (address or
  // request), NotFound (no such socket), Unavailable (nobody listens; the response is truncated or
  // not HTTP), DeadlineExceeded, OutOfRange (response over the limit), PermissionDenied.
  using Done = std::function<void(StatusOr<Response>)>;

  // Sends `request` to `address`: "127.0.0.1:9401", or the path of a unix socket, which contains a
  // "/". `done` is called once, from the loop and never from within Start; it may destroy the call.
  // `loop` must outlive the call.
  static std::unique_ptr<Call> Start(EventLoop& loop, std::string address, const Request& request,
                                     Done done, const CallOptions& options = {});
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  class Impl;
  explicit Call(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

// The same for programs without a loop: blocks until the response is there.
StatusOr<Response> Fetch(const std::string& address, const Request& request,
                         const CallOptions& options = {});

}  // namespace kgpu::http
