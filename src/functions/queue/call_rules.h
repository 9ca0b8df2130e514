// What all queues do with a call, wherever they store it: when it is repeated, and when it has
// ended. Pure: time is given.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/functions/queue/call_queue.h"
#include "src/functions/queue/call_record.h"
#include "src/platform/base/clock.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

// Bounds that do not depend on the storage.
struct CallLimits {
  size_t max_calls = 100'000;          // that have not ended
  size_t max_bytes = size_t{1} << 30;  // of those
  size_t max_body = size_t{16} << 20;  // of one call
  size_t max_arriving = 1'024;         // calls that wait until they are stored
  size_t max_arriving_bytes = size_t{256} << 20;
  // Calls that no replica took are tried again without using their retries, up to this age.
  std::chrono::hours patience{24};
};

// The longest pause between two attempts.
inline constexpr std::chrono::milliseconds kLongestPause = std::chrono::minutes(2);
// Of one list.
inline constexpr size_t kMaxListedCalls = 1'000;

// A call that arrives at `now`, before it is stored: its size, times and retries are set.
void OnArrival(CallRecord& call, WallTime now);

enum class NextStep : uint8_t {
  kEnd,     // it succeeded
  kRepeat,  // it is due again at not_before
  kBury,    // it has failed for good: is_dead is set
};
// What follows an attempt that ended at `now`. Writes attempts, retries_left, not_before, is_dead,
// code and problem.
NextStep AfterAttempt(CallRecord& call, const CallOutcome& outcome, WallTime now,
                      std::chrono::hours patience);

// Of the request that brings a caller the answer: the function's own fields, without those of one
// connection, then ours, and the trace of the call unless the function has set one.
http::Headers CallbackHeaders(const CallRecord& call, const CallOutcome& outcome);

// The fields of a call by which its trace goes on: all that is kept of them while it runs.
http::Headers TraceOf(const http::Headers& headers);

// In the headers of a stored call whose function has answered: its callback alone is left to make.
inline constexpr char kAnsweredHeader[] = "Kgpu-Answered";
// Such a call: with the answer in the place of the input, which nobody needs any more.
CallRecord Answered(const CallRecord& call, const CallOutcome& outcome);
// The answer of such a call; nothing for any other.
std::optional<CallOutcome> AnswerIn(const CallRecord& call);

// Errors: InvalidArgument (body over the limit), OutOfRange (too many calls arrive at once).
// `arriving` and `arriving_bytes` are of the calls that are not stored yet.
Status CheckArrival(const CallRecord& call, const CallLimits& limits, size_t arriving,
                    size_t arriving_bytes);
// The storage has so many calls, or bytes of them, already.
Status TooManyCalls(size_t calls);
Status TooManyBytes(size_t bytes);

}  // namespace kgpu::functions
