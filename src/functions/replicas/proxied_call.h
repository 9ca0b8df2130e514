// A call that was handed to a replica: its request on one connection to the watchdog, and the
// answer's way back, piece by piece. Never sent twice to a handler.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/functions/service/function_call.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/client_connection.h"
#include "src/platform/net/http/parser.h"

namespace kgpu::functions {

// Of a watchdog's answers.
inline constexpr http::ParserLimits kAnswerLimits{.header = size_t{64} << 10,
                                                  .body = size_t{1} << 40};  // the watchdog has one

// Owned by the pool; lives on the loop's thread.
class ProxiedCall {
 public:
  // `code`: what the caller got; kNotTaken: nothing yet, see TakeBack. May destroy the call.
  using Done = std::function<void(ProxiedCall& ended, int code)>;
  static constexpr int kNotTaken = 0;

  struct Options {
    std::chrono::milliseconds limit{};  // of the whole call
    // A call that no handler has seen is given back, for another replica. The request is kept until
    // then. Without it, its caller hears that the replica ended.
    bool gives_back = false;
  };

  // On an error, nothing was handed over and `call` is as before. `done` is called once, from the
  // loop and never from within Start. Errors: InvalidArgument (the request cannot be written).
  static StatusOr<std::unique_ptr<ProxiedCall>> Start(
      EventLoop& loop, std::shared_ptr<http::ClientConnection> connection, FunctionCall& call,
      const Options& options, Done done);
  // Ends the call: its caller sees that the answer is incomplete.
  ~ProxiedCall();
  ProxiedCall(const ProxiedCall&) = delete;
  ProxiedCall& operator=(const ProxiedCall&) = delete;

  SteadyTime arrived() const { return call_.arrived; }
  // After kNotTaken: the call as it was.
  FunctionCall TakeBack() { return std::move(call_); }
  // After the end: the connection, if another call may follow on it; else null.
  std::shared_ptr<http::ClientConnection> TakeConnection();

 private:
  ProxiedCall(EventLoop& loop, std::shared_ptr<http::ClientConnection> connection,
              FunctionCall call, bool gives_back, Done done);
  void OnHead(int code, const http::Headers& headers);
  void OnData(std::string_view bytes);
  void OnEnd(const Status& status);
  void Finish(int code, bool is_lost);

  std::shared_ptr<http::ClientConnection> connection_;
  FunctionCall call_;
  const bool gives_back_;
  Done done_;
  Timer deadline_;
  Timer connecting_;         // until it must have a connection; else it is given back
  int code_ = 0;             // of the answer; 0: its head has not come
  bool is_refused_ = false;  // the watchdog has not shown it to a handler
  bool has_ended_ = false;   // properly
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
