// A queue of asynchronous calls that several gateways share, in a Redis server.
// docs/how-it-works/shared-queue.md has the design.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/functions/queue/call_index.h"
#include "src/functions/queue/call_queue.h"
#include "src/functions/queue/call_record.h"
#include "src/functions/queue/call_rules.h"
#include "src/functions/queue/callbacks.h"
#include "src/functions/queue/queue_request.h"
#include "src/functions/redis/redis_calls.h"
#include "src/functions/redis/redis_link.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

struct RedisQueueOptions {
  RedisLinkOptions link{};    // without its channel
  std::string name = "kgpu";  // of the queue; gateways with the same name share it
  CallLimits limits{};
  IndexLimits index{};    // what runs: of this gateway
  CallbackTrust trust{};  // see Callbacks
  KeyLimits keys{};
  // How long a call stays with a gateway that has died. Renewed three times as often.
  std::chrono::milliseconds claim{45'000};
  // The look for calls whose message got lost.
  std::chrono::milliseconds look_every{30'000};
  uint64_t seed = 0;  // differs between gateways: it names this one
};

// Lives on the loop's thread.
class RedisQueue final : public CallQueue {
 public:
  // `loop` must outlive the queue. Does not wait for the server. Errors: InvalidArgument (no
  // server, or an invalid name).
  static StatusOr<std::unique_ptr<CallQueue>> Start(EventLoop& loop, RedisQueueOptions options,
                                                    Attempt attempt);
  // The calls that run are given back, if the server takes it at once.
  ~RedisQueue() override;

  // Errors, beside those of all queues: Unavailable if the connection is lost before the server
  // has answered; the call may be queued then.
  void Put(CallRecord call, Accepted accepted) override;
  void RemoveFunction(const std::string& function) override;
  void List(const CallSelection& selection,
            std::function<void(StatusOr<boost::json::object>)> done) override;
  void Change(const ChangeRequest& request, bool is_retry,
              std::function<void(StatusOr<size_t>)> done) override;
  std::map<std::string, FunctionCounts> Counts() const override;

 private:
  struct RunningCall {
    std::string function{};
    size_t bytes = 0;
  };
  struct EndedCall {
    CallRecord call{};
    NextStep step = NextStep::kEnd;
  };
  struct Listing;
  struct Changing;

  RedisQueue(EventLoop& loop, RedisQueueOptions options, Attempt attempt);
  void OnReady();
  void Look();
  void Claim();
  void OnClaimed(const StatusOr<ClaimedCalls>& claimed);
  void ArmClaim(std::chrono::nanoseconds pause);
  ClaimRequest Capacity() const;
  void Begin(CallRecord call);
  void OnEnded(CallRecord call, CallOutcome outcome);
  void StoreAnswer(const CallRecord& call, CallOutcome outcome);
  void Deliver(CallRecord call, CallOutcome outcome);
  void Settle(CallRecord call, NextStep step);
  void SendEnd(int64_t number);
  void OnEndStored(int64_t number, const Status& status);
  void ArmRenewal();
  void Renew();
  void RefreshCounts();
  void RemovePart(const std::string& function, WallTime removed, int64_t failures);
  void ListPart(const std::shared_ptr<Listing>& listing);
  void EndList(const std::shared_ptr<Listing>& listing);
  void ChangePart(const std::shared_ptr<Changing>& changing);
  void NoteProblem(std::string_view what, const Status& status);
  std::vector<int64_t> RunningNumbers() const;

  EventLoop& loop_;
  const RedisQueueOptions options_;
  const Attempt attempt_;
  Callbacks callbacks_;
  std::map<int64_t, RunningCall> running_;  // claimed, until the server has stored their end
  std::map<int64_t, EndedCall> ended_;      // of these: not stored yet
  size_t running_bytes_ = 0;
  std::map<std::string, FunctionCounts> counts_;  // as the server last said
  std::map<std::string, uint64_t> retries_;       // by function, of this gateway
  size_t arriving_ = 0;
  size_t arriving_bytes_ = 0;
  bool is_claiming_ = false;
  bool must_claim_ = false;  // again
  bool is_counting_ = false;
  std::optional<SteadyTime> counted_;
  std::string problem_;  // as it was logged
  std::optional<SteadyTime> noted_;
  Timer claim_timer_;
  Timer look_timer_;
  Timer renew_timer_;
  Timer count_timer_;
  Timer end_timer_;
  Lifetime lifetime_;
  // The last one: its end calls nothing, but its replies use the above.
  RedisLink link_;
  RedisCalls calls_;
};

// Makes RedisQueues. `loop` must outlive them.
inline QueueMaker RedisQueueMaker(EventLoop& loop, RedisQueueOptions options) {
  return [&loop, options = std::move(options)](CallQueue::Attempt attempt) {
    return RedisQueue::Start(loop, options, std::move(attempt));
  };
}

}  // namespace kgpu::functions
