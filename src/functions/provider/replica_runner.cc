#include "src/functions/provider/replica_runner.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/functions/provider/logs.h"
#include "src/functions/provider/replica_record.h"
#include "src/functions/provider/secret_files.h"
#include "src/functions/service/folders.h"
#include "src/functions/service/views.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// How long a replica waits for GPUs that others have.
constexpr milliseconds kLoanPatience = seconds(5);
// And for an agent that is starting again.
constexpr milliseconds kAgentPatience = seconds(20);
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause = seconds(30);
constexpr milliseconds kLoanPause{500};
constexpr size_t kShownLines = 10;  // that a handler printed before it failed to start
// So many attempts to remove a container whose processes are gone.
constexpr int64_t kRemovalFailures = 5;

StatusOr<int64_t> ReadPid(const std::string& path) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  ASSIGN_OR_RETURN(const std::string text, root.ReadFile(path));
  const std::optional<uint64_t> pid = ParseUint(Trim(text));
  if (!pid || *pid == 0 || *pid > 0x7fffffff) {
    return InvalidArgument("{}: must be the number of a process", path);
  }
  return static_cast<int64_t>(*pid);
}

}  // namespace

ReplicaRunner::ReplicaRunner(const ReplicaDeps& deps, ReplicaSet& set,
                             std::shared_ptr<const Deployment> deployment, std::string id)
    : Replica(set, std::move(id)),
      deps_(deps),
      deployment_(std::move(deployment)),
      since_(deps.loop.clock().WallNow()),
      limit_(deps.loop),
      retry_(deps.loop) {
}

ReplicaRunner::~ReplicaRunner() {
  CountGpuTime();
  StopWatching();
}

void ReplicaRunner::Start() {
  started_ = deps_.loop.clock().Now();
  On(ReplicaEvent::kNeeded);
}

void ReplicaRunner::Adopt(const FoundContainer& container, Loan loan) {
  // One that an older service has started has none.
  if (const Status written = WriteReplicaRecord(deps_.folders, container); !written.ok()) {
    KGPU_LOG(kWarning, "record of a replica not written", {"reason", Message(written)});
  }
  was_adopted_ = true;
  loan_ = std::move(loan);
  SetGpus(static_cast<int64_t>(loan_.devices.size()));
  started_ = deps_.loop.clock().Now();
  On(ReplicaEvent::kAdopted);
  if (const Status status = WatchPid(container.pid); !status.ok()) {
    On(ReplicaEvent::kContainerEnded);
  }
}

void ReplicaRunner::RefreshSecrets() {
  const Status status = functions::RefreshSecrets(deps_.folders, deployment_->function, id());
  if (!status.ok()) {
    KGPU_LOG(kWarning, "secrets of a replica not refreshed",
             {"function", deployment_->function.name}, {"replica", id()},
             {"reason", Message(status)});
  }
}

void ReplicaRunner::Stop() {
  On(ReplicaEvent::kStopAsked);
}

void ReplicaRunner::GiveUpGpus(const std::string& problem) {
  if (life_.state == ReplicaState::kRunning) {
    Fail(StartFailure::kNone, Unavailable("its GPU is unhealthy: {}", problem));
    Stop();
  }
}

void ReplicaRunner::StopWithoutAgent() {
  leaves_loan_ = true;
  Stop();
  if (life_.step == ReplicaStep::kReturn && retry_.is_armed()) {
    retry_.Arm(milliseconds(0), [this] { ReturnLoan(); });
  }
}

void ReplicaRunner::On(ReplicaEvent event) {
  const ReplicaState before = life_.state;
  const ReplicaTransition transition = Next(life_, event);
  const bool is_new = transition.next != life_;
  life_ = transition.next;
  if (life_.state != before) {
    since_ = deps_.loop.clock().WallNow();
    KGPU_LOG(kInfo, "replica changed", {"function", deployment_->function.name}, {"replica", id()},
             {"state", NameOf(life_.state)}, {"problem", Message(problem_)});
  }
  for (const ReplicaAction action : transition.actions) {
    Do(action);
  }
  if (is_new) {
    Changed();
  }
}

void ReplicaRunner::Do(ReplicaAction action) {
  switch (action) {
    case ReplicaAction::kBorrow:
      give_up_ = deps_.loop.clock().Now() + kLoanPatience;
      return Borrow();
    case ReplicaAction::kStartContainer:
      return StartContainer();
    case ReplicaAction::kAwaitReady:
      return AwaitReady();
    case ReplicaAction::kServe:
      idle_since_ = deps_.loop.clock().Now();
      return;
    case ReplicaAction::kAwaitCalls:
      return AwaitCalls();
    case ReplicaAction::kRemoveContainer:
      return RemoveContainer();
    case ReplicaAction::kReturnLoan:
      retries_ = 0;
      return ReturnLoan();
    case ReplicaAction::kForget:
      StopWatching();
      if (has_left_container_) {
        deps_.loop.Post(deps_.on_left);
      }
      return;
  }
}

void ReplicaRunner::Borrow() {
  if (deployment_->function.gpu.count == 0) {
    return On(ReplicaEvent::kLoanGranted);
  }
  deps_.loans.Borrow(fmt::format("{}{}/{}", kHolderPrefix, deployment_->function.name, id()),
                     deployment_->function.gpu,
                     lifetime_.Bind([this](StatusOr<Loan> loan) { OnLoan(std::move(loan)); }));
}

void ReplicaRunner::OnLoan(StatusOr<Loan> loan) {
  const SteadyTime now = deps_.loop.clock().Now();
  if (loan.ok()) {
    loan_ = *std::move(loan);
    SetGpus(static_cast<int64_t>(loan_.devices.size()));
    phases_[0] = now - started_;
    return On(ReplicaEvent::kLoanGranted);
  }
  // The answer of an agent that was killed may be lost: what it lent is found by its holder when it
  // is asked again. So a draining replica asks on, too.
  const bool is_lost = loan.status().code() == StatusCode::kUnavailable;
  const bool is_busy = loan.status().code() == StatusCode::kResourceExhausted;
  if (is_busy && AreGpusReturned(now)) {
    give_up_ = now + kLoanPatience;
  }
  const SteadyTime give_up = is_lost ? started_ + kAgentPatience : give_up_;
  const bool may_be_lent = is_lost && life_.state == ReplicaState::kDraining && !leaves_loan_;
  if ((is_lost || is_busy) && (now < give_up || may_be_lent) && !leaves_loan_) {
    retry_.Arm(kLoanPause, [this] { Borrow(); });
    return;
  }
  if (life_.state != ReplicaState::kDraining) {
    Fail(StartFailure::kNoGpu, loan.status());
  }
  if (is_lost && !leaves_loan_) {
    // Nobody waits for it any longer, but it must be returned if it was lent.
    On(ReplicaEvent::kStopAsked);
    retry_.Arm(kLoanPause, [this] { Borrow(); });
    return;
  }
  On(ReplicaEvent::kLoanRefused);
}

// By replicas of this function that are ending, once their calls have: it may wait as long as a
// call.
bool ReplicaRunner::AreGpusReturned(SteadyTime now) const {
  const SteadyTime last = started_ + deployment_->function.calls.timeout + deps_.start_limit;
  return life_.state == ReplicaState::kStarting && now < last &&
         std::ranges::any_of(
             set().replicas(),
             [](const Replica* replica) {
               return replica->state() == ReplicaState::kDraining && replica->gpus() > 0;
             });
}

Status ReplicaRunner::PrepareFolders() const {
  // The user of the image makes the socket; nobody else reaches the folder.
  constexpr mode_t kContainers = 0777;
  RETURN_IF_ERROR(MakeFolder(fmt::format("{}/{}", deps_.folders.run, id()), kOursAlone));
  RETURN_IF_ERROR(MakeFolder(ReplicaFolder(deps_.folders, id()), kContainers));
  RETURN_IF_ERROR(CopySecrets(deps_.folders, deployment_->function, id()));
  RETURN_IF_ERROR(
      MakeFolder(fmt::format("{}/{}", deps_.folders.logs, deployment_->function.name), kOursAlone));
  return WriteReplicaRecord(deps_.folders, AsFound(0));
}

FoundContainer ReplicaRunner::AsFound(int64_t pid) const {
  return {.name = ContainerName(deployment_->function.name, id()),
          .function = deployment_->function.name,
          .replica = id(),
          .loan = loan_.id,
          .hash = deployment_->hash,
          .is_running = pid != 0,
          .pid = pid};
}

void ReplicaRunner::StartContainer() {
  started_ = deps_.loop.clock().Now();
  if (const Status status = PrepareFolders(); !status.ok()) {
    Fail(StartFailure::kStart, status);
    return On(ReplicaEvent::kContainerFailed);
  }
  deps_.podman.Run(deps_.folders,
                   {.function = deployment_->function,
                    .image = deployment_->image_id,
                    .replica = id(),
                    .loan = loan_,
                    .hash = deployment_->hash},
                   lifetime_.Bind([this](const Status& status) { OnContainerStarted(status); }));
}

void ReplicaRunner::OnContainerStarted(const Status& status) {
  Status problem = status;
  if (status.ok()) {
    const StatusOr<int64_t> pid = ReadPid(PidFile(deps_.folders, id()));
    problem = pid.ok() ? WriteReplicaRecord(deps_.folders, AsFound(*pid)) : pid.status();
    if (problem.ok()) {
      problem = WatchPid(*pid);
    }
  }
  if (!problem.ok()) {
    Fail(StartFailure::kStart, problem);
    return On(ReplicaEvent::kContainerFailed);
  }
  On(ReplicaEvent::kContainerStarted);
}

// Errors: NotFound (it has ended).
Status ReplicaRunner::WatchPid(int64_t pid) {
  pidfd_.Reset(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  if (!pidfd_.is_valid()) {
    has_ended_ = errno == ESRCH;
    return has_ended_ ? NotFound("the container ended at once")
                      : ErrnoStatus(errno, fmt::format("pidfd_open {}", pid));
  }
  ASSIGN_OR_RETURN(pid_watch_, deps_.loop.WatchReadable(pidfd_.get(), [this] {
    StopWatching();
    has_ended_ = true;
    const bool was_starting = life_.state == ReplicaState::kStarting;
    if (was_starting || life_.state == ReplicaState::kRunning) {
      Fail(was_starting ? StartFailure::kStart : StartFailure::kNone,
           Unavailable("the container ended"));
    }
    On(ReplicaEvent::kContainerEnded);
  }));
  return OkStatus();
}

void ReplicaRunner::AwaitReady() {
  limit_.Arm(deps_.start_limit, [this] {
    Fail(StartFailure::kStart,
         DeadlineExceeded("not ready after {} ms{}{}", deps_.start_limit.count(),
                          probe_->problem().empty() ? "" : ": ", probe_->problem()));
    On(ReplicaEvent::kStartExpired);
  });
  probe_ = std::make_unique<ReadyProbe>(deps_.loop, address(),
                                        [this](const ReadyProbe::Ready& ready) { OnReady(ready); });
  probe_->OnFailed([this](const std::string& problem) { OnHandlerFailed(problem); });
}

// The watchdog would go on trying. The next replica does, with a pause that grows.
void ReplicaRunner::OnHandlerFailed(const std::string& problem) {
  const std::string printed =
      LastLines(deps_.folders, deployment_->function.name, id(), kShownLines);
  Fail(StartFailure::kStart,
       FailedPrecondition("{}{}{}", problem, printed.empty() ? "" : ":\n", printed));
  On(ReplicaEvent::kStartExpired);
}

void ReplicaRunner::OnReady(const ReadyProbe::Ready& ready) {
  probe_.reset();
  limit_.Cancel();
  if (!was_adopted_) {
    const auto& status = ready.status;
    phases_[1] = ready.answered - started_;
    phases_[2] = status.worker_started;
    phases_[3] = std::max(status.worker_ready - status.worker_started, milliseconds(0));
    deps_.meter.OnColdStart(deployment_->function.name, phases_, deps_.loop.clock().WallNow());
  }
  On(ReplicaEvent::kReady);
}

void ReplicaRunner::OnIdle() {
  idle_since_ = deps_.loop.clock().Now();
  if (life_.step == ReplicaStep::kCalls) {
    On(ReplicaEvent::kCallsEnded);
  }
}

void ReplicaRunner::AwaitCalls() {
  if (in_flight() == 0) {
    On(ReplicaEvent::kCallsEnded);
  }
}

void ReplicaRunner::RemoveContainer() {
  StopWatching();
  retries_ = 0;
  if (has_ended_ && !problem_.ok()) {
    return ExplainThenRemove();
  }
  RemoveNow();
}

void ReplicaRunner::ExplainThenRemove() {
  deps_.podman.Explain(ContainerName(deployment_->function.name, id()),
                       lifetime_.Bind([this](const std::string& reason) {
                         if (!reason.empty()) {
                           problem_ = MakeStatus(problem_.code(),
                                                 fmt::format("{}: {}", Message(problem_), reason));
                         }
                         RemoveNow();
                       }));
}

void ReplicaRunner::RemoveNow() {
  deps_.podman.Remove(ContainerName(deployment_->function.name, id()), deps_.grace,
                      lifetime_.Bind([this](const Status& status) {
                        if (!status.ok()) {
                          return OnNotRemoved(status);
                        }
                        std::error_code ignored;
                        fs::remove_all(fmt::format("{}/{}", deps_.folders.run, id()), ignored);
                        PruneLogs(deps_.folders, deployment_->function.name);
                        On(ReplicaEvent::kContainerRemoved);
                      }));
}

// Podman may be unable to see the container. Its processes end nevertheless, and its GPUs are free
// then: what is left is podman's record of it, which the next look at all containers removes.
void ReplicaRunner::OnNotRemoved(const Status& status) {
  KGPU_LOG(kWarning, "container not removed", {"function", deployment_->function.name},
           {"replica", id()}, {"reason", Message(status)});
  KillRecorded(deps_.folders, id());
  if (retries_ >= kRemovalFailures &&
      StateOfRecorded(deps_.folders, id()) == RecordedProcess::kGone) {
    has_left_container_ = true;
    return On(ReplicaEvent::kContainerRemoved);
  }
  Retry(&ReplicaRunner::RemoveNow);
}

void ReplicaRunner::ReturnLoan() {
  if (loan_.id.empty()) {
    return On(ReplicaEvent::kLoanReturned);
  }
  deps_.loans.Return(loan_.id, lifetime_.Bind([this](const Status& status) {
    if (!status.ok() && !leaves_loan_) {
      return Retry(&ReplicaRunner::ReturnLoan);
    }
    SetGpus(0);
    loan_ = {};
    On(ReplicaEvent::kLoanReturned);
  }));
}

void ReplicaRunner::Retry(void (ReplicaRunner::*again)()) {
  retry_.Arm(DoublingPause(++retries_, kFirstPause, kLongestPause),
             [this, again] { (this->*again)(); });
}

void ReplicaRunner::Fail(StartFailure failure, Status problem) {
  if (start_failure_ == StartFailure::kNone) {
    start_failure_ = failure;
  }
  problem_ = std::move(problem);
  if (failure != StartFailure::kNone) {
    deps_.meter.OnStartFailed(deployment_->function.name,
                              failure == StartFailure::kNoGpu ? "no-gpu" : "start");
  }
}

void ReplicaRunner::Describe(boost::json::object& entry) const {
  entry["gpus"] = doc::Texts(loan_.uuids);
  entry["since"] = FormatTime(since_);
  entry["phases"] = PhasesView(kMachinePhases, phases_);
  entry["problem"] = problem_.ok() ? loan_.problem : std::string(Message(problem_));
}

void ReplicaRunner::StopWatching() {
  deps_.loop.Unwatch(std::exchange(pid_watch_, WatchId::kNone));
  pidfd_.Reset();
  probe_.reset();
  limit_.Cancel();
}

}  // namespace kgpu::functions
