// The replicas of one function as containers of this machine: when they start and end, and what
// failed. The replica set gives them calls.
#pragma once

#include <boost/json/fwd.hpp>

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
#include "src/functions/replicas/replica_set.h"
#include "src/functions/service/function_call.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/random.h"

namespace kgpu::functions {

class Pool final : private ReplicaBackend {
 public:
  // All that `deps` refers to, and `random`, must outlive the pool.
  Pool(const ReplicaDeps& deps, Random& random, Deployment deployment);
  // Refuses the calls that wait; leaves containers as they are.
  ~Pool() override = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const Deployment& deployment() const { return *deployment_; }
  // Replicas of another hash, or all with `replaces`, end after their calls; calls that arrive
  // meanwhile wait for their successors.
  void Deploy(Deployment deployment, bool replaces);
  // A deployment that differs in its scaling alone: idle replicas over the minimum end now.
  void Rescale(Deployment deployment);
  // Containers see secrets as they are now.
  void RefreshSecrets();
  bool HasLoans() const;
  // The replica that has the loan ends, and another one takes its place.
  void OnUnhealthyLoan(std::string_view loan, const std::string& problem);
  // Whether it is here, in whatever state.
  bool HasReplica(std::string_view id) const;
  // A container of an earlier provider that runs, of this deployment's hash.
  void Adopt(const FoundContainer& container, Loan loan);
  // Starts the minimum of replicas; call it once all containers are adopted. Idempotent.
  void Begin();
  // Answers the call now or later.
  void Take(FunctionCall call) { set_.Take(std::move(call)); }
  // Ends all replicas; from then on, calls are refused. `done` is called once, from the loop.
  // `needs_agent` false: loans that cannot be returned are left to the reconciler.
  void Stop(std::function<void()> done, bool needs_agent = true);

  bool has_replicas() const { return !replicas_.empty(); }
  // "cold", "starting", "running", "draining"; "failing" while a restart is delayed.
  std::string_view state() const;
  // The reason that there is no replica; empty if nothing is wrong.
  std::string problem() const;
  int64_t running() const { return set_.running(); }
  int64_t waiting() const { return set_.waiting(); }
  // OpenFx's Function, with "Kgpu".
  boost::json::object View() const;
  // Counts the GPU time until now.
  void CountGpuTime() { set_.CountGpuTime(); }

 private:
  std::optional<SteadyTime> Settle() override;
  void OnAnswer(int code) override;

  void SetDeployment(Deployment deployment);
  ReplicaRunner& AddReplica(std::string id);
  void NoteFailures();
  // When to look again.
  std::optional<SteadyTime> ScaleReplicas();
  std::vector<ReplicaRunner*> LiveReplicas() const;
  void RefuseHopeless();
  CallFault StartFault() const;
  bool IsDelayed() const;
  void EndStop();

  const ReplicaDeps deps_;
  Random& random_;
  std::shared_ptr<const Deployment> deployment_;
  ReplicaSet set_;
  std::vector<std::unique_ptr<ReplicaRunner>> replicas_;

  int64_t failures_ = 0;  // in a row
  std::optional<SteadyTime> not_before_;
  SteadyTime failed_{};  // when the last replica failed
  Status problem_;
  StartFailure failure_ = StartFailure::kNone;

  std::function<void()> stopped_;  // set: all replicas end
  bool is_begun_ = false;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
