// The callbacks of a queue that are under way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "src/functions/queue/call_queue.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/callback.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::functions {

// Lives on the loop's thread. Destroying it cancels the callbacks.
class Callbacks {
 public:
  // The call as it has ended: dead, with the problem, if its caller could not be told.
  using Told = std::function<void(CallRecord call)>;

  // `loop` must outlive it. `trust`: null where https callbacks cannot be made.
  explicit Callbacks(EventLoop& loop, CallbackTrust trust = nullptr)
      : loop_(loop), trust_(std::move(trust)) {}

  // Tells the caller of a call that has ended the answer, if it wants it. `told` is called once,
  // perhaps before this returns.
  void Tell(CallRecord call, CallOutcome outcome, Told told);

 private:
  StatusOr<std::shared_ptr<const tls::Context>> TrustFor(const CallbackUrl& url) const;

  EventLoop& loop_;
  const CallbackTrust trust_;
  std::map<int64_t, std::unique_ptr<Callback>> running_;  // by the call's number
};

}  // namespace kgpu::functions
