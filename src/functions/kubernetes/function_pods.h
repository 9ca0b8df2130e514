// The pods of one function, the calls that wait for them, and the calls that they have.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/kubernetes/pod.h"
#include "src/functions/kubernetes/pod_address.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/meter.h"
#include "src/functions/service/proxied_call.h"
#include "src/functions/service/ready_probe.h"
#include "src/functions/service/waiting_calls.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"
#include "src/platform/net/http/idle_connections.h"

namespace kgpu::functions {

// Of a cold start: until the pod has a node; until its image is there and its watchdog answers;
// until the worker's process runs; until the handler is loaded, with its CUDA context.
inline constexpr PhaseNames kPodPhases = {"scheduled", "pulled", "started", "ready"};

struct PodsDeps {
  EventLoop& loop;
  Meter& meter;
  PodAddress address;
  // How long a call waits for a replica, beside the function's own time.
  std::chrono::milliseconds start_limit;
  // Of a pod that became ready, and of pods' GPUs; each gateway sees all of them.
  std::function<void(const PhaseTimes&)> on_cold_start;
  std::function<void(double busy_seconds, double held_seconds)> on_gpu_time;
};

// Lives on the loop's thread.
class FunctionPods {
 public:
  // `changed` is called from the loop, once for all that changes in one turn of it, and may destroy
  // this. What `deps` refers to must outlive this.
  FunctionPods(PodsDeps deps, std::string key, std::function<void()> changed);
  // Calls that wait are refused; those in progress are cut off.
  ~FunctionPods();
  FunctionPods(const FunctionPods&) = delete;
  FunctionPods& operator=(const FunctionPods&) = delete;

  // `template_hash`: of pods that are made now. Calls go to others only while none of those is
  // ready.
  void Deploy(Function function, std::string template_hash);
  void Put(const PodFacts& facts);
  void Remove(const std::string& pod);
  // Answers the call now or later.
  void Take(FunctionCall call);
  // A call that may not be made.
  void Refuse(FunctionCall& call, const CallFault& fault);
  // Calls that wait, and those that come, are refused for this reason while no pod is ready;
  // nothing: they wait.
  void SetHopeless(std::optional<CallFault> fault);
  bool is_hopeless() const { return hopeless_.has_value(); }
  // Why no pod is ready yet, for the callers that have waited in vain.
  void SetNote(std::string note) { note_ = std::move(note); }
  // Takes no more calls; those in progress go on.
  void Stop();

  const Function& function() const { return function_; }
  const std::map<std::string, PodFacts>& pods() const { return facts_; }
  // The first pod for which the scheduler has found no node; null: none.
  const PodFacts* Unschedulable() const;
  bool HasPodWithoutNode() const;
  // Why the first pod with a problem is not ready, for people; empty: none has one.
  std::string PodProblem() const;
  // The same, or why calls are refused; empty if some pod is ready.
  std::string Problem() const;
  // "cold", "starting", "running", "failing".
  std::string_view state() const;
  bool has_live_pods() const;
  int64_t ready() const;
  int64_t waiting() const { return waiting_.size(); }
  int64_t in_flight() const { return static_cast<int64_t>(calls_.size()); }
  // Of a pod, for people: its state, calls, and the phases of its start.
  boost::json::array ReplicaList() const;
  // Counts the GPU time until now.
  void CountGpuTime();

 private:
  struct Pod {
    Pod(EventLoop& loop, std::string where) : address(std::move(where)), idle(loop, {}) {}

    std::string address;
    http::IdleConnections idle;
    std::unique_ptr<ReadyProbe> probe{};
    bool has_answered = false;  // that it is ready
    bool was_ready = false;     // by its condition
    int64_t in_flight = 0;
    SteadyTime shunned_until{};
  };
  struct Start {
    SteadyTime seen{};
    std::optional<SteadyTime> placed{};  // when it had a node
    PhaseTimes phases{};
    WallTime since{};
  };
  struct InFlight {
    std::unique_ptr<ProxiedCall> call;
    std::string pod;
    SteadyTime deadline;
  };

  void ScheduleSettle();
  void Settle();
  void Dispatch();
  const std::string* FreePod() const;
  bool IsFree(const std::string& name, const Pod& pod) const;
  bool IsReady(const std::string& name, const Pod& pod) const;
  bool HandOver(const std::string& name, FunctionCall& call);
  void OnCallEnded(uint64_t number, ProxiedCall& ended, int code);
  SteadyTime DeadlineOf(const FunctionCall& call) const;
  void EndWithout(FunctionCall& call, const CallFault& fault);
  void Probe(const std::string& name, Pod& pod);
  void OnProbed(const std::string& name, const ReadyProbe::Ready& ready);
  void NoteStart(Start& start, const ReadyProbe::Ready& ready);
  void ArmTimer();
  void ShowInMeter();

  const PodsDeps deps_;
  const std::string key_;
  const std::function<void()> changed_;
  Function function_;
  std::string template_hash_;
  std::map<std::string, PodFacts> facts_;
  std::map<std::string, Pod> pods_;  // those that have an address
  std::map<std::string, Start> starts_;
  WaitingCalls waiting_;
  std::map<uint64_t, InFlight> calls_;
  uint64_t last_call_ = 0;
  std::optional<CallFault> hopeless_;
  std::string note_;
  SteadyTime counted_;  // GPU time is counted up to here
  bool is_stopped_ = false;
  bool is_settling_ = false;
  bool has_lost_caller_ = false;  // of a call that waits
  Timer timer_;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
