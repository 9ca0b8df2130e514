// The replicas of one function as pods: what their objects show, when they become ready, and why
// calls need not wait for them. The replica set gives them calls.
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
#include <utility>

#include "src/functions/kubernetes/pod.h"
#include "src/functions/kubernetes/pod_address.h"
#include "src/functions/replicas/ready_probe.h"
#include "src/functions/replicas/replica_set.h"
#include "src/functions/service/function_call.h"
#include "src/functions/service/meter.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/event_loop.h"

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

// A GPU is held from the moment when its pod has a node until the pod has ended.
class FunctionPod final : public Replica {
 public:
  // `deps` must outlive it.
  FunctionPod(const PodsDeps& deps, ReplicaSet& set, const PodFacts& facts);

  const PodFacts& facts() const { return facts_; }
  void Put(const PodFacts& facts);
  // Its GPU time is counted elsewhere from now on.
  void Leave() { SetGpus(0); }

  ReplicaState state() const override;
  std::string address() const override { return address_; }
  const std::string& revision() const override { return facts_.template_hash; }
  void Describe(boost::json::object& entry) const override;

 private:
  struct Start {
    SteadyTime seen{};
    std::optional<SteadyTime> placed{};  // when it had a node
    PhaseTimes phases{};
    WallTime since{};
  };
  bool is_ready() const { return has_answered_ || facts_.is_ready; }
  void SetAddress(const std::string& address);
  void Probe();
  void OnProbed(const ReadyProbe::Ready& ready);

  const PodsDeps& deps_;
  PodFacts facts_;
  std::string address_;  // empty: it takes no calls
  std::unique_ptr<ReadyProbe> probe_;
  bool has_answered_ = false;   // that it is ready
  bool was_ready_ = false;      // by its condition
  std::optional<Start> start_;  // nothing: it was found when it had a node already
};

// Lives on the loop's thread.
class FunctionPods final : private ReplicaBackend {
 public:
  // `changed` is called from the loop, once for all that changes in one turn of it, and must not
  // destroy this. All that `deps` refers to must outlive this.
  FunctionPods(PodsDeps deps, const std::string& key, std::function<void()> changed);
  // Calls that wait are refused; those in progress are cut off.
  ~FunctionPods() override = default;
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
  void Refuse(FunctionCall& call, const CallFault& fault) { set_.Refuse(call, fault); }
  // Calls that wait, and those that come, are refused for this reason while no pod is ready;
  // nothing: they wait.
  void SetHopeless(std::optional<CallFault> fault);
  bool is_hopeless() const { return hopeless_.has_value(); }
  // See ReplicaSet::SetNote.
  void SetNote(std::string note) { set_.SetNote(std::move(note)); }
  // Takes no more calls; those in progress go on. Its GPU time is counted elsewhere.
  void Stop();

  const std::map<std::string, std::unique_ptr<FunctionPod>>& pods() const { return pods_; }
  // The first pod for which the scheduler has found no node; null: none.
  const PodFacts* Unschedulable() const;
  bool HasPodWithoutNode() const;
  // The problem of the first pod that has one; empty if no pod has one.
  std::string PodProblem() const;
  // The same, or why calls are refused; empty if some pod is ready.
  std::string Problem() const;
  // "cold", "starting", "running", "failing".
  std::string_view state() const;
  bool has_live_pods() const;
  int64_t ready() const { return set_.running(); }
  int64_t waiting() const { return set_.waiting(); }
  int64_t in_flight() const { return set_.in_flight(); }
  // See ReplicaSet::View.
  boost::json::object View(int64_t replicas, boost::json::object now) const;
  // Counts the GPU time until now.
  void CountGpuTime() { set_.CountGpuTime(); }

 private:
  std::optional<SteadyTime> Settle() override;
  // The first pod for which `is_it` holds; null: none.
  const PodFacts* FindPod(const std::function<bool(const PodFacts&)>& is_it) const;

  const PodsDeps deps_;
  const std::function<void()> changed_;
  Function function_;
  std::string template_hash_;
  ReplicaSet set_;
  std::map<std::string, std::unique_ptr<FunctionPod>> pods_;
  std::optional<CallFault> hopeless_;
};

}  // namespace kgpu::functions
