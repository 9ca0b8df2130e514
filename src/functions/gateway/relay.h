// One request on its way to the service, and the answer's way back, piece by piece: a caller that
// reads slowly slows the service down, and costs no more than a few pieces of memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/functions/gateway/caller.h"
#include "src/functions/gateway/upstream.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/message.h"

namespace kgpu::gateway {

// The code of a request whose caller left, in metrics only. Source: nginx.
inline constexpr int kCallerLeftCode = 499;

// Why a request failed here.
enum class UpstreamFault : uint8_t { kNone, kConnect, kCut, kDeadline };

struct RelayResult {
  int code = 0;  // that the caller got
  UpstreamFault fault = UpstreamFault::kNone;
};

// Lives on the loop's thread.
class Relay {
 public:
  // May destroy the relay; called once, from the loop and never from the constructor.
  using Done = std::function<void(const RelayResult&)>;

  // `loop` and `upstream` must outlive it. After `deadline` the caller gets code 504.
  Relay(EventLoop& loop, Upstream& upstream, http::Request request, std::unique_ptr<Caller> caller,
        std::optional<SteadyTime> deadline, Done done);
  // The caller sees that its answer was cut off.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

 private:
  void OnHead(int code, const http::Headers& headers);
  void OnData(std::string_view bytes);
  void OnEnd(const Status& status);
  void OnDrained();
  void Fail(int code, std::string_view text, UpstreamFault fault);
  void Finish(int code, UpstreamFault fault);

  EventLoop& loop_;
  std::unique_ptr<Caller> caller_;
  Done done_;
  int code_ = 0;             // of the answer; 0: its head has not come
  const bool is_head_;       // the answer has no body, whatever its length says
  bool is_whole_ = false;    // the answer is small: it is sent in one piece
  http::Response answer_{};  // if is_whole_
  bool is_paused_ = false;
  Timer deadline_;
  std::unique_ptr<Upstream::Exchange> exchange_;
};

}  // namespace kgpu::gateway
