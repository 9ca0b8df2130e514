// A call that was handed to a replica: its request on one connection to the watchdog, and the
// answer's way back, piece by piece. Never sent twice.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "src/functions/provider/function_call.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/http/client_connection.h"

namespace kgpu::functions {

// Owned by the pool; lives on the loop's thread.
class ProxiedCall {
 public:
  // `code`: what the caller got.
  using Done = std::function<void(int code)>;

  // On an error, nothing was handed over and `call` is as before. `done` is called once, from the
  // loop and never from within Start; it may destroy this. Errors: those of connecting; and
  // InvalidArgument (the request cannot be written).
  static StatusOr<std::unique_ptr<ProxiedCall>> Start(EventLoop& loop, const std::string& socket,
                                                      FunctionCall& call,
                                                      std::chrono::milliseconds limit, Done done);
  // Ends the call: its caller sees that the answer is incomplete.
  ~ProxiedCall();
  ProxiedCall(const ProxiedCall&) = delete;
  ProxiedCall& operator=(const ProxiedCall&) = delete;

  SteadyTime arrived() const { return arrived_; }

 private:
  ProxiedCall(EventLoop& loop, std::shared_ptr<http::ClientConnection> connection,
              FunctionCall& call, Done done);
  void OnHead(int code, const http::Headers& headers);
  void OnData(std::string_view bytes);
  void OnEnd(const Status& status);
  void Finish(int code, bool is_lost);

  EventLoop& loop_;
  const std::shared_ptr<http::ClientConnection> connection_;
  const std::unique_ptr<CallSink> sink_;
  const SteadyTime arrived_;
  Done done_;
  TimerId deadline_ = TimerId::kNone;
  int code_ = 0;  // of the answer; 0: its head has not come
};

}  // namespace kgpu::functions
