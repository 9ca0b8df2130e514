// Asynchronous calls that survive the process: each is on the disk before its caller hears so, and
// until its function has answered. After a crash, every call without an end is made again: at least
// once, none is lost. docs/reference/functions.md has the rules.
#pragma once

#include <boost/json/fwd.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/call_table.h"
#include "src/functions/queue/callback.h"
#include "src/functions/queue/queue_request.h"
#include "src/functions/queue/table_worker.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::functions {

struct QueueOptions {
  std::string folder{};  // of the database
  TableLimits table{};
  IndexLimits index{};
  size_t max_calls = 100'000;          // that have not ended
  size_t max_bytes = size_t{1} << 30;  // of those
  size_t max_body = size_t{16} << 20;  // of one call
  size_t max_arriving = 1'024;         // calls that wait for the disk
  size_t max_arriving_bytes = size_t{256} << 20;
  // Calls that no replica took are tried again without using their retries, up to this age.
  std::chrono::hours patience{24};
};

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

  // Reads what is on the disk, and goes on with it. `loop` must outlive the queue. Errors:
  // ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<CallQueue>> Start(EventLoop& loop, QueueOptions options,
                                                    Attempt attempt);
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  // `accepted` is called when the call is on the disk. Errors: OutOfRange (a bound is reached: the
  // text names it), ResourceExhausted (the disk is full), Unavailable (the disk does not work),
  // InvalidArgument (body over the limit, header with a line break).
  void Put(CallRecord call, Accepted accepted);
  // The function was deleted: its calls go, also those that are dead.
  void RemoveFunction(const std::string& function);

  // {"functions": […], "calls": […], "left"}: counts of all functions, and up to 1,000 of the calls
  // that are selected. Errors: Unavailable.
  void List(const CallSelection& selection,
            std::function<void(StatusOr<boost::json::object>)> done);
  // The calls, dead or waiting, are due now, as if they had just arrived. Gives how many. Errors:
  // those of the disk.
  void Retry(const ChangeRequest& request, std::function<void(StatusOr<size_t>)> done);
  // Removes the calls. Otherwise as Retry.
  void Purge(const ChangeRequest& request, std::function<void(StatusOr<size_t>)> done);

  std::string MetricsPage(metrics::Format format) const;

 private:
  CallQueue(EventLoop& loop, QueueOptions options, Attempt attempt);
  void Open();
  void OnOpened(const std::vector<CallRecord>& calls, const std::string& note);
  Status CheckBounds(const CallRecord& call) const;
  void OnStored(const CallRecord& call);
  void StartDue();
  void Read(int64_t number);
  void Begin(CallRecord call);
  void OnEnded(CallRecord call, CallOutcome outcome);
  void TellCaller(CallRecord call, CallOutcome outcome);
  void Settle(CallRecord call);
  void TryAgain(CallRecord call);
  void Update(const CallRecord& call);
  void RemoveFromDisk(int64_t number);
  void ArmCleanUp();
  void CleanUp();
  void NoteDisk(const Status& status);
  void Change(const ChangeRequest& request, bool is_retry,
              std::function<void(StatusOr<size_t>)> done);

  EventLoop& loop_;
  const QueueOptions options_;
  const Attempt attempt_;
  CallIndex index_;
  std::unique_ptr<TableWorker> worker_;
  std::map<int64_t, std::unique_ptr<Callback>> callbacks_;
  std::string problem_;  // of the disk, as it was logged
  size_t arriving_ = 0;
  size_t arriving_bytes_ = 0;
  size_t puts_ = 0;  // since the last clean-up
  bool is_start_posted_ = false;
  std::optional<SteadyTime> logged_;  // that the disk fails, or works again
  TimerId timer_ = TimerId::kNone;
  TimerId open_timer_ = TimerId::kNone;
  TimerId clean_timer_ = TimerId::kNone;
  std::shared_ptr<bool> is_alive_;
};

}  // namespace kgpu::functions
