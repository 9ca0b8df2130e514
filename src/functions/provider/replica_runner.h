// One replica of a function: carries out the actions of its state machine with podman and the
// agent. Owned by its pool; lives on the loop's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/deployment.h"
#include "src/functions/provider/loan.h"
#include "src/functions/provider/loan_client.h"
#include "src/functions/provider/podman.h"
#include "src/functions/provider/replica.h"
#include "src/functions/service/meter.h"
#include "src/functions/service/ready_probe.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/timer.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/net/http/idle_connections.h"

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
};

// Why a replica ended before it was ready; decides what callers get.
enum class StartFailure : uint8_t { kNone, kNoGpu, kStart };

class ReplicaRunner {
 public:
  // `changed` is called from the loop after every change of the state, and must not destroy this.
  // What `deps` refers to must outlive the runner.
  ReplicaRunner(const ReplicaDeps& deps, std::shared_ptr<const Deployment> deployment,
                std::string id, std::function<void()> changed);
  // Leaves a container and a loan as they are: the next provider finds them.
  ~ReplicaRunner();
  ReplicaRunner(const ReplicaRunner&) = delete;
  ReplicaRunner& operator=(const ReplicaRunner&) = delete;

  void Start();
  // A container of an earlier provider, with its loan.
  void Adopt(const FoundContainer& container, Loan loan);
  void Stop();
  // As Stop. If no agent answers, the loan is left to the next provider.
  void StopWithoutAgent();

  const std::string& id() const { return id_; }
  const Deployment& deployment() const { return *deployment_; }
  ReplicaState state() const { return life_.state; }
  const Loan& loan() const { return loan_; }
  std::string socket() const { return WatchdogSocket(deps_.folders, id_); }
  WallTime since() const { return since_; }
  // Of this replica's start; all 0 before it is ready, or if it was adopted.
  const PhaseTimes& phases() const { return phases_; }

  int64_t in_flight() const { return in_flight_; }
  // Nothing while it has calls, or is not running.
  std::optional<SteadyTime> idle_since() const { return idle_since_; }
  void BeginCall();
  void EndCall();
  // Connections to its watchdog.
  http::IdleConnections& connections() { return connections_; }

  // Why it failed, for people; empty if it did not. `start_failure`: before it was ready.
  const Status& problem() const { return problem_; }
  StartFailure start_failure() const { return start_failure_; }
  // Whether it has failed and the failure is not yet reported.
  bool TakeFailure() { return !problem_.ok() && !std::exchange(is_failure_taken_, true); }
  // Counts the GPU time until now.
  void CountGpuTime();

 private:
  void On(ReplicaEvent event);
  void Do(ReplicaAction action);
  void Borrow();
  void OnLoan(StatusOr<Loan> loan);
  void StartContainer();
  Status PrepareFolders() const;
  void OnContainerStarted(const Status& status);
  Status WatchPid(int64_t pid);
  void AwaitReady();
  void OnReady(const ReadyProbe::Ready& ready);
  void AwaitCalls();
  void RemoveContainer();
  void ExplainThenRemove();
  void RemoveNow();
  void ReturnLoan();
  void Retry(void (ReplicaRunner::*again)());
  void Fail(StartFailure failure, Status problem);
  void StopWatching();

  const ReplicaDeps deps_;
  const std::shared_ptr<const Deployment> deployment_;
  const std::string id_;
  const std::function<void()> changed_;

  http::IdleConnections connections_;
  ReplicaLife life_;
  WallTime since_;
  Loan loan_;
  Status problem_;
  StartFailure start_failure_ = StartFailure::kNone;
  bool is_failure_taken_ = false;
  bool was_adopted_ = false;
  bool leaves_loan_ = false;
  bool has_ended_ = false;  // its container, by itself: its exit code says something

  int64_t in_flight_ = 0;
  std::optional<SteadyTime> idle_since_;
  std::optional<SteadyTime> counted_;  // GPU time is counted up to here

  SteadyTime started_;  // of the phase in progress
  SteadyTime give_up_;  // when the loan is not waited for any longer
  PhaseTimes phases_{};

  UniqueFd pidfd_;
  WatchId pid_watch_ = WatchId::kNone;
  std::unique_ptr<ReadyProbe> probe_;
  Timer limit_;
  Timer retry_;
  int64_t retries_ = 0;  // of the action in progress
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
