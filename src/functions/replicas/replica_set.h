// The replicas of one function and its calls: which call waits, for how long, and which replica
// gets it. Knows nothing of how replicas start and end: a backend does, provider/pool.h for
// containers and kubernetes/function_pods.h for pods.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/functions/replicas/proxied_call.h"
#include "src/functions/replicas/replica.h"
#include "src/functions/replicas/waiting_calls.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/meter.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

// Starts and ends the replicas of a set.
class ReplicaBackend {
 public:
  virtual ~ReplicaBackend() = default;
  // Called from the loop, once for all that changes in one turn of it, after free replicas have got
  // the calls that wait. Starts and ends replicas, and refuses calls that would wait in vain. Gives
  // when to call it again if nothing changes before. Must not destroy the set.
  virtual std::optional<SteadyTime> Settle() = 0;
  // A replica has answered a call with this code.
  virtual void OnAnswer(int /*code*/) {}
};

struct ReplicaSetOptions {
  std::string key{};  // of the function
  // How long a call waits for a replica, beside the function's own time.
  std::chrono::milliseconds start_limit{};
  // A replica over the network that did not take a call gets none for so long: others get it. 0: of
  // this machine. Such a replica is about to end, or its end is noticed at once.
  std::chrono::milliseconds shun{};
  std::function<void(double busy_seconds, double held_seconds)> on_gpu_time{};
};

// Lives on the loop's thread.
class ReplicaSet {
 public:
  // All references must outlive the set, which must outlive its replicas.
  ReplicaSet(EventLoop& loop, Meter& meter, ReplicaBackend& backend, ReplicaSetOptions options);
  // Refuses the calls that wait; cuts off those in progress.
  ~ReplicaSet();
  ReplicaSet(const ReplicaSet&) = delete;
  ReplicaSet& operator=(const ReplicaSet&) = delete;

  // Replicas of this revision get calls before others.
  void Deploy(const Calls& calls, std::string revision);
  // Answers the call now or later.
  void Take(FunctionCall call);
  // A call that may not be made.
  void Refuse(FunctionCall& call, const CallFault& fault);
  void RefuseWaiting(const CallFault& fault) { waiting_.RefuseAll(fault); }
  // Only calls that arrived no later.
  void RefuseWaitingUntil(SteadyTime arrived, const CallFault& fault) {
    waiting_.RefuseUntil(arrived, fault);
  }
  // The reason that no replica is ready yet, for callers whose calls expire; may be empty.
  void SetNote(std::string note) { note_ = std::move(note); }
  // Takes no more calls; those in progress go on. `is_shown` false: another function may have the
  // key from now on, and the meter shows nothing of these replicas.
  void Stop(bool is_shown);
  // Looks again, soon: something has changed.
  void ScheduleSettle();
  // Reports the GPU time of all replicas until now.
  void CountGpuTime();

  const std::vector<Replica*>& replicas() const { return replicas_; }
  ReplicaCounts counts() const;
  int64_t running() const { return counts().running; }
  int64_t waiting() const { return waiting_.size(); }
  int64_t in_flight() const { return static_cast<int64_t>(calls_.size()); }
  // OpenFx's Function, with "Kgpu": `now` and what the set knows. `replicas`: how many there should
  // be.
  boost::json::object View(const Function& function, int64_t replicas,
                           boost::json::object now) const;

 private:
  friend class Replica;

  struct InFlight {
    std::unique_ptr<ProxiedCall> call;
    Replica* replica;  // null: it is gone
  };

  EventLoop& loop() const { return loop_; }
  void Add(Replica& replica) { replicas_.push_back(&replica); }
  void Remove(const Replica& replica);
  void AddGpuTime(double busy, double held) const { options_.on_gpu_time(busy, held); }

  bool are_local() const { return options_.shun.count() == 0; }
  void Settle();
  void Dispatch();
  bool HandOverToAny(FunctionCall& call);
  Replica* FreeReplica() const;
  bool HandOver(Replica& replica, FunctionCall& call);
  StatusOr<std::shared_ptr<http::ClientConnection>> Connect(const std::string& address) const;
  void OnCallEnded(uint64_t number, ProxiedCall& ended, int code);
  void OnNotTaken(Replica* replica, FunctionCall call);
  void EndWithout(FunctionCall& call, const CallFault& fault);
  SteadyTime DeadlineOf(const FunctionCall& call) const;
  void ArmTimer(std::optional<SteadyTime> next);
  boost::json::array ReplicaList() const;

  EventLoop& loop_;
  Meter& meter_;
  ReplicaBackend& backend_;
  const ReplicaSetOptions options_;
  Calls settings_;
  std::string revision_;
  std::string note_;
  std::vector<Replica*> replicas_;  // in the order of their start
  WaitingCalls waiting_;
  std::map<uint64_t, InFlight> calls_;
  uint64_t last_call_ = 0;
  bool is_stopped_ = false;
  bool is_shown_ = true;
  bool is_settling_ = false;
  bool has_lost_caller_ = false;  // of a call that waits
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
