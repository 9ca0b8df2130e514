// The replicas of one function and the calls that wait for them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/provider/deployment.h"
#include "src/functions/provider/replica_runner.h"
#include "src/functions/provider/scaler.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/proxied_call.h"
#include "src/functions/service/waiting_calls.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::functions {

// A replica, for people and programs.
struct ReplicaView {
  std::string id{};
  ReplicaState state = ReplicaState::kCold;
  std::vector<std::string> gpus{};
  WallTime since{};
  int64_t in_flight = 0;
  PhaseTimes phases{};
  std::string problem{};
  bool is_outdated = false;  // of an earlier deployment
};

class Pool {
 public:
  // What `deps` refers to, and `random`, must outlive the pool.
  Pool(const ReplicaDeps& deps, Random& random, Deployment deployment);
  // Refuses the calls that wait; leaves containers as they are.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Deployment& deployment() const { return *deployment_; }
  // Replicas of another hash, or all with `replaces`, end after their calls; calls that arrive
  // meanwhile wait for their successors.
  void Deploy(Deployment deployment, bool replaces);
  // A deployment that differs in its scaling alone: idle replicas over the minimum end now.
  void Rescale(Deployment deployment);
  // Whether it is here, in whatever state.
  bool HasReplica(std::string_view id) const;
  // A container of an earlier provider that runs, of this deployment's hash.
  void Adopt(const FoundContainer& container, Loan loan);
  // Starts what the minimum demands; call it once all containers are adopted.
  void Begin();
  // Answers the call now or later.
  void Take(FunctionCall call);
  // Ends all replicas; from then on, calls are refused. `done` is called once, from the loop.
  // `needs_agent` false: loans that cannot be returned are left to the next provider.
  void Stop(std::function<void()> done, bool needs_agent = true);

  std::vector<ReplicaView> replicas() const;
  // "cold", "starting", "running", "draining"; "failing" while a restart is delayed.
  std::string_view state() const;
  // Why there is no replica; empty if nothing is wrong.
  std::string problem() const;
  int64_t running() const;
  int64_t waiting() const { return waiting_.size(); }
  // Counts the GPU time until now.
  void CountGpuTime();

 private:
  struct InFlight {
    std::unique_ptr<ProxiedCall> call;
    ReplicaRunner* replica;  // null: it is gone
  };

  ReplicaRunner& AddReplica();
  void ScheduleSettle();
  void Settle();
  void NoteFailures();
  void DropEnded();
  void Dispatch();
  ReplicaRunner* FreeReplica() const;
  bool HandOver(ReplicaRunner& replica, FunctionCall& call);
  void OnCallEnded(uint64_t number, ProxiedCall& ended, int code);
  void TakeAgain(ReplicaRunner* replica, FunctionCall call);
  SteadyTime DeadlineOf(const FunctionCall& call) const;
  // When to look again.
  std::optional<SteadyTime> ScaleReplicas();
  std::vector<ReplicaRunner*> LiveReplicas() const;
  void RefuseHopeless();
  void Refuse(FunctionCall& call, const CallFault& fault);
  CallFault StartFault() const;
  bool IsDelayed() const;
  void ArmTimer(std::optional<SteadyTime> next);
  void ShowInMeter();

  const ReplicaDeps deps_;
  Random& random_;
  std::shared_ptr<const Deployment> deployment_;
  std::vector<std::unique_ptr<ReplicaRunner>> replicas_;
  WaitingCalls waiting_;
  std::vector<std::pair<uint64_t, InFlight>> in_flight_;
  uint64_t last_call_ = 0;

  int64_t failures_ = 0;  // in a row
  std::optional<SteadyTime> not_before_;
  SteadyTime failed_{};  // when the last replica failed
  Status problem_;
  StartFailure failure_ = StartFailure::kNone;

  std::function<void()> stopped_;  // set: all replicas end
  bool is_begun_ = false;
  bool is_settling_ = false;
  bool has_lost_caller_ = false;  // of a call that waits
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
