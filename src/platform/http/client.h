// HTTP calls to TCP addresses and unix sockets: one connection for each, with a deadline and a
// limit of what comes back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/http/message.h"

namespace kgpu::http {

struct CallOptions {
  std::chrono::milliseconds timeout{10'000};  // for all of it
  size_t max_header = size_t{64} << 10;
  size_t max_body = size_t{16} << 20;
};

// A call on its way. Destroying it gives it up: `done` is not called then. Loop thread only.
class Call {
 public:
  // Any answer that is HTTP is a Response, whatever its code. Errors: InvalidArgument (address or
  // request), NotFound (no such socket), Unavailable (nobody listens; the answer ends early or is
  // no HTTP), DeadlineExceeded, OutOfRange (larger than allowed), PermissionDenied.
  using Done = std::function<void(StatusOr<Response>)>;

  // Sends `request` to `address`, "127.0.0.1:9401" or a unix socket's path, which has a "/".
  // `done` is called once, from the loop, never from here; it may destroy the call. `loop` outlives
  // the call.
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

// The same for programs without a loop: waits for the answer.
StatusOr<Response> Fetch(const std::string& address, const Request& request,
                         const CallOptions& options = {});

}  // namespace kgpu::http
