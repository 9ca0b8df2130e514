// Asynchronous calls: their callers have left with code 202. The queue keeps each of them
// until its function has answered; a callback gets the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "src/functions/queue/call_queue.h"
#include "src/functions/service/function_call.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::functions {

inline constexpr char kCallbackHeader[] = "X-Callback-Url";
inline constexpr char kIdempotencyHeader[] = "Idempotency-Key";
// FunctionProvider::IdentityOf the function that a queued call is for. Only in the queue.
inline constexpr char kIdentityHeader[] = "Kgpu-Function-Identity";

// Lives on the loop's thread.
class AsyncCalls {
 public:
  // Gives a call to its function; false if there is none.
  using Take = std::function<bool(const std::string& function, FunctionCall& call)>;

  // As FunctionProvider::IdentityOf.
  using Identity = std::function<std::string(const std::string& function)>;

  // `loop` must outlive this. Errors: those of the maker.
  static StatusOr<std::unique_ptr<AsyncCalls>> Start(EventLoop& loop, const QueueMaker& make_queue,
                                                     Take take, Identity identity);
  AsyncCalls(const AsyncCalls&) = delete;
  AsyncCalls& operator=(const AsyncCalls&) = delete;

  // `accepted` is called when the call is on the disk, or refused: with InvalidArgument for a
  // callback or an idempotency key that cannot be used, else as CallQueue::Put. `retries`: how
  // often a call that failed is made again.
  void Start(const std::string& function, http::Request request, const std::string& call_id,
             int64_t retries, CallQueue::Accepted accepted);
  CallQueue& queue() { return *queue_; }

 private:
  class Sink;
  AsyncCalls(EventLoop& loop, Take take, Identity identity);
  bool IsOfDeleted(const CallRecord& call) const;
  void Try(CallRecord call, const CallQueue::Ended& ended);

  EventLoop& loop_;
  const Take take_;
  const Identity identity_;
  std::shared_ptr<size_t> answer_bytes_;  // that callbacks will get, of all calls
  std::unique_ptr<CallQueue> queue_;
};

}  // namespace kgpu::functions
