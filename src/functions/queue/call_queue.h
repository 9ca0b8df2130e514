// Asynchronous calls that survive the process: each is stored before its caller hears so, and until
// its function has answered. After a crash, every call without an end is made again: at least once,
// none is lost. docs/reference/functions.md has the rules, which all queues share.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/queue_request.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/message.h"

namespace kgpu::functions {

// How an attempt ended.
struct CallOutcome {
  int code = 0;
  bool was_taken = true;    // false: no replica got it, and another attempt cannot harm
  std::string problem{};    // of an attempt that failed
  http::Headers headers{};  // of the answer
  std::string body{};       // of the answer, for the callback
};

// Lives on the loop's thread.
class CallQueue {
 public:
  using Ended = std::function<void(CallOutcome)>;
  // Makes one attempt. `ended` is called once, or never if the process ends; perhaps before this
  // returns.
  using Attempt = std::function<void(CallRecord call, Ended ended)>;
  // The call's id: of the first one, if this repeats it.
  using Accepted = std::function<void(StatusOr<std::string> call_id)>;

  CallQueue() = default;
  virtual ~CallQueue() = default;
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // `accepted` is called when the call is stored. Errors: OutOfRange (a bound is reached: the text
  // names it), ResourceExhausted (the storage is full), Unavailable (the storage does not work),
  // InvalidArgument (body over the limit, header with a line break).
  virtual void Put(CallRecord call, Accepted accepted) = 0;
  // The function was deleted: its calls go, also those that are dead. Repeated until the storage
  // has done it, but then without calls that arrive from now on.
  virtual void RemoveFunction(const std::string& function) = 0;

  // {"functions": […], "calls": […], "left"}: counts of all functions, and up to 1,000 of the calls
  // that are selected. Errors: Unavailable.
  virtual void List(const CallSelection& selection,
                    std::function<void(StatusOr<boost::json::object>)> done) = 0;
  // The calls, dead or waiting, are due now, as if they had just arrived; with `is_retry` false
  // they are removed. Gives how many. Errors: those of the storage.
  virtual void Change(const ChangeRequest& request, bool is_retry,
                      std::function<void(StatusOr<size_t>)> done) = 0;

  // By function. Of a queue that several processes share, at most a second old while calls arrive
  // or end.
  virtual std::map<std::string, FunctionCounts> Counts() const = 0;
};

// Starts a queue that makes its calls by `attempt`. Errors: ResourceExhausted (no descriptors
// left), InvalidArgument (options that cannot be used).
using QueueMaker = std::function<StatusOr<std::unique_ptr<CallQueue>>(CallQueue::Attempt attempt)>;

}  // namespace kgpu::functions
