// A replica as a container: carries out the actions of its state machine with podman and the agent.
// Owned by its pool; lives on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/deployment.h"
#include "src/functions/provider/loan.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/replica.h"
#include "src/functions/replicas/ready_probe.h"
#include "src/functions/replicas/replica_set.h"
#include "src/functions/service/meter.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::functions {

// Of a cold start: until the agent has lent GPUs; until the engine has started the container and
// the watchdog answers; until the worker's process runs; until the handler is loaded.
inline constexpr PhaseNames kMachinePhases = {"loan", "container", "worker_start", "worker_ready"};

struct ReplicaDeps {
  EventLoop& loop;
  Podman& podman;
  LoanClient& loans;
  Meter& meter;
  ProviderFolders folders;
  std::chrono::milliseconds start_limit;  // until a worker is ready
  std::chrono::milliseconds grace;        // for a container to end by itself
  std::function<void()> on_left;          // a replica has gone, and podman still has its container
};

// Why a replica ended before it was ready; decides what callers get.
enum class StartFailure : uint8_t { kNone, kNoGpu, kStart };

class ReplicaRunner final : public Replica {
 public:
  // All that `deps` refers to must outlive the runner.
  ReplicaRunner(const ReplicaDeps& deps, ReplicaSet& set,
                std::shared_ptr<const Deployment> deployment, std::string id);
  // Leaves a container and a loan as they are: the next provider finds them.
  ~ReplicaRunner() override;
  ReplicaRunner(const ReplicaRunner&) = delete;
  ReplicaRunner& operator=(const ReplicaRunner&) = delete;

  void Start();
  // A container of an earlier provider, with its loan.
  void Adopt(const FoundContainer& container, Loan loan);
  // Its container sees secrets as they are now.
  void RefreshSecrets();
  void Stop();
  // A GPU of its loan does not work: it takes no more calls, ends after those in flight, and counts
  // as failed.
  void GiveUpGpus(const std::string& problem);
  const std::string& loan() const { return loan_.id; }
  // As Stop. If no agent answers, the loan is left to the reconciler, or to the next provider.
  void StopWithoutAgent();

  ReplicaState state() const override { return life_.state; }
  std::string address() const override { return WatchdogSocket(deps_.folders, id()); }
  const std::string& revision() const override { return deployment_->hash; }
  void Describe(boost::json::object& entry) const override;
  // Nothing while it has calls, or is not running.
  std::optional<SteadyTime> idle_since() const { return idle_since_; }

  // The failure, for people; OK if it has not failed. `start_failure`: before it was ready.
  const Status& problem() const { return problem_; }
  StartFailure start_failure() const { return start_failure_; }
  // Whether it has failed and the failure is not yet reported.
  bool TakeFailure() { return !problem_.ok() && !std::exchange(is_failure_taken_, true); }

 private:
  void OnBusy() override { idle_since_.reset(); }
  void OnIdle() override;
  void On(ReplicaEvent event);
  void Do(ReplicaAction action);
  void Borrow();
  void OnLoan(StatusOr<Loan> loan);
  bool AreGpusReturned(SteadyTime now) const;
  void StartContainer();
  Status PrepareFolders() const;
  void OnContainerStarted(const Status& status);
  FoundContainer AsFound(int64_t pid) const;
  Status WatchPid(int64_t pid);
  void AwaitReady();
  void OnReady(const ReadyProbe::Ready& ready);
  void OnHandlerFailed(const std::string& problem);
  void AwaitCalls();
  void RemoveContainer();
  void ExplainThenRemove();
  void RemoveNow();
  void OnNotRemoved(const Status& status);
  void ReturnLoan();
  void Retry(void (ReplicaRunner::*again)());
  void Fail(StartFailure failure, Status problem);
  void StopWatching();

  const ReplicaDeps deps_;
  const std::shared_ptr<const Deployment> deployment_;
  ReplicaLife life_;
  WallTime since_;
  Loan loan_;
  Status problem_;
  StartFailure start_failure_ = StartFailure::kNone;
  bool is_failure_taken_ = false;
  bool was_adopted_ = false;
  bool leaves_loan_ = false;
  bool has_left_container_ = false;
  bool has_ended_ = false;  // its container, by itself: its exit code says something

  std::optional<SteadyTime> idle_since_;

  SteadyTime started_;   // of the phase in progress
  SteadyTime give_up_;   // when the loan is not waited for any longer
  PhaseTimes phases_{};  // all 0 before it is ready, or if it was adopted

  UniqueFd pidfd_;
  WatchId pid_watch_ = WatchId::kNone;
  std::unique_ptr<ReadyProbe> probe_;
  Timer limit_;
  Timer retry_;
  int64_t retries_ = 0;  // of the action in progress
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
