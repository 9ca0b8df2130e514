// A queue of asynchronous calls in an SQLite database, for one process.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_queue.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/call_rules.h"
#include "src/functions/queue/call_table.h"
#include "src/functions/queue/callbacks.h"
#include "src/functions/queue/queue_request.h"
#include "src/functions/queue/table_worker.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

struct QueueOptions {
  std::string folder{};  // of the database
  TableLimits table{};
  IndexLimits index{};
  CallLimits limits{};
  CallbackTrust trust{};  // see Callbacks
};

// Lives on the loop's thread.
class DiskQueue final : public CallQueue {
 public:
  // Reads what is on the disk, and goes on with it. `loop` must outlive the queue. Errors:
  // ResourceExhausted (no descriptors left).
  static StatusOr<std::unique_ptr<CallQueue>> Start(EventLoop& loop, QueueOptions options,
                                                    Attempt attempt);
  ~DiskQueue() override;

  void Put(CallRecord call, Accepted accepted) override;
  void RemoveFunction(const std::string& function) override;
  void List(const CallSelection& selection,
            std::function<void(StatusOr<boost::json::object>)> done) override;
  void Change(const ChangeRequest& request, bool is_retry,
              std::function<void(StatusOr<size_t>)> done) override;
  std::map<std::string, FunctionCounts> Counts() const override { return index_.Counts(); }

 private:
  DiskQueue(EventLoop& loop, QueueOptions options, Attempt attempt);
  void Open();
  void OnOpened(const std::vector<CallRecord>& calls, const std::string& note);
  Status CheckBounds(const CallRecord& call) const;
  void OnStored(const CallRecord& call);
  void RemoveCalls(const std::string& function, WallTime removed, int64_t failures);
  void StartDue();
  void Read(int64_t number);
  void Begin(CallRecord call);
  void OnEnded(CallRecord call, CallOutcome outcome);
  void StoreAnswer(const CallRecord& call, CallOutcome outcome);
  void Deliver(CallRecord call, CallOutcome outcome);
  void Settle(const CallRecord& call);
  void TryAgain(const CallRecord& call);
  void Update(const CallRecord& call);
  void RemoveFromDisk(int64_t number);
  void ArmCleanUp();
  void CleanUp();
  void NoteDisk(const Status& status);

  EventLoop& loop_;
  const QueueOptions options_;
  const Attempt attempt_;
  CallIndex index_;
  std::unique_ptr<TableWorker> worker_;
  Callbacks callbacks_;
  std::string problem_;  // of the disk, as it was logged
  size_t arriving_ = 0;
  size_t arriving_bytes_ = 0;
  size_t puts_ = 0;  // since the last clean-up
  bool is_start_posted_ = false;
  std::optional<SteadyTime> logged_;  // that the disk fails, or works again
  Timer start_timer_;
  Timer open_timer_;
  Timer clean_timer_;
  Lifetime lifetime_;
};

// Makes DiskQueues. `loop` must outlive them.
inline QueueMaker DiskQueueMaker(EventLoop& loop, QueueOptions options) {
  return [&loop, options = std::move(options)](CallQueue::Attempt attempt) {
    return DiskQueue::Start(loop, options, std::move(attempt));
  };
}

}  // namespace kgpu::functions
