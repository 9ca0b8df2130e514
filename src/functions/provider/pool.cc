#include "src/functions/provider/pool.h"

#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/provider/scaler.h"
#include "src/platform/base/log.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

using std::chrono::seconds;

// A call waits through one failed start: what was killed is started again at once.
constexpr int64_t kFailuresOfACall = 2;
constexpr int kUnavailable = 503;
constexpr int kServerError = 500;

// 40 bits: names of containers, of which few exist at a time.
std::string NewId(Random& random) {
  constexpr uint64_t kMask = (uint64_t{1} << 40) - 1;
  return fmt::format("{:010x}", random.Next() & kMask);
}

ReplicaSetOptions SetOptions(const ReplicaDeps& deps, const std::string& function) {
  return {.key = function,
          .start_limit = deps.start_limit,
          .on_gpu_time = [&meter = deps.meter, &clock = deps.loop.clock(), function](double busy,
                                                                                     double held) {
            meter.OnGpuTime(function, busy, held, clock.WallNow());
          }};
}

}  // namespace

Pool::Pool(const ReplicaDeps& deps, Random& random, Deployment deployment)
    : deps_(deps),
      random_(random),
      set_(deps.loop, deps.meter, *this, SetOptions(deps, deployment.function.name)) {
  SetDeployment(std::move(deployment));
}

void Pool::SetDeployment(Deployment deployment) {
  deployment_ = std::make_shared<const Deployment>(std::move(deployment));
  set_.Deploy(deployment_->function.calls, deployment_->hash);
}

void Pool::Deploy(Deployment deployment, bool replaces) {
  SetDeployment(std::move(deployment));
  failures_ = 0;
  not_before_.reset();
  problem_ = OkStatus();
  failure_ = StartFailure::kNone;
  for (const auto& replica : replicas_) {
    if (replaces || replica->revision() != deployment_->hash) {
      replica->Stop();
    }
  }
}

void Pool::Adopt(const FoundContainer& container, Loan loan) {
  AddReplica(container.replica).Adopt(container, std::move(loan));
}

void Pool::Rescale(Deployment deployment) {
  SetDeployment(std::move(deployment));
  const std::vector<ReplicaRunner*> live = LiveReplicas();
  auto spare = static_cast<int64_t>(live.size()) - deployment_->function.scaling.min_replicas;
  for (ReplicaRunner* replica : live) {
    if (spare > 0 && replica->idle_since()) {
      replica->Stop();
      --spare;
    }
  }
}

void Pool::RefreshSecrets() {
  for (ReplicaRunner* replica : LiveReplicas()) {
    replica->RefreshSecrets();
  }
}

bool Pool::HasLoans() const {
  return std::ranges::any_of(replicas_,
                             [](const auto& replica) { return !replica->loan().empty(); });
}

void Pool::OnUnhealthyLoan(std::string_view loan, const std::string& problem) {
  for (const auto& replica : replicas_) {
    if (replica->loan() == loan) {
      replica->GiveUpGpus(problem);
    }
  }
}

bool Pool::HasReplica(std::string_view id) const {
  return std::ranges::any_of(replicas_, [&](const auto& replica) { return replica->id() == id; });
}

void Pool::Begin() {
  if (!std::exchange(is_begun_, true)) {
    set_.ScheduleSettle();
  }
}

void Pool::Stop(std::function<void()> done, bool needs_agent) {
  if (stopped_) {
    done = [first = std::move(stopped_), second = std::move(done)] {
      first();
      second();
    };
  }
  stopped_ = std::move(done);
  set_.Stop(true);
  for (const auto& replica : replicas_) {
    needs_agent ? replica->Stop() : replica->StopWithoutAgent();
  }
}

ReplicaRunner& Pool::AddReplica(std::string id) {
  replicas_.push_back(std::make_unique<ReplicaRunner>(deps_, set_, deployment_, std::move(id)));
  return *replicas_.back();
}

std::optional<SteadyTime> Pool::Settle() {
  NoteFailures();
  std::erase_if(replicas_,
                [](const auto& replica) { return replica->state() == ReplicaState::kGone; });
  if (stopped_) {
    if (replicas_.empty()) {
      EndStop();
    }
    return std::nullopt;
  }
  RefuseHopeless();
  return is_begun_ ? ScaleReplicas() : std::nullopt;
}

void Pool::EndStop() {
  deps_.loop.Post(lifetime_.Bind([this, done = std::exchange(stopped_, [] {})] {
    deps_.meter.Forget(deployment_->function.name);
    done();  // may destroy this
  }));
}

// As soon as a replica has failed, not when it is removed: its successor starts before that.
void Pool::NoteFailures() {
  for (const auto& replica : replicas_) {
    if (replica->revision() != deployment_->hash || replica->problem().ok()) {
      continue;
    }
    // The engine explains some failures only afterwards.
    problem_ = replica->problem();
    if (!replica->TakeFailure()) {
      continue;
    }
    ++failures_;
    failed_ = deps_.loop.clock().Now();
    not_before_ = failed_ + RestartDelay(failures_);
    failure_ = replica->start_failure();
    KGPU_LOG(kWarning, "replica failed", {"function", deployment_->function.name},
             {"replica", replica->id()}, {"reason", Message(problem_)}, {"failures", failures_});
  }
}

void Pool::OnAnswer(int code) {
  if (code < kServerError) {
    failures_ = 0;
  }
}

std::vector<ReplicaRunner*> Pool::LiveReplicas() const {
  std::vector<ReplicaRunner*> live;
  for (const auto& replica : replicas_) {
    if (replica->state() == ReplicaState::kStarting || replica->state() == ReplicaState::kRunning) {
      live.push_back(replica.get());
    }
  }
  return live;
}

std::optional<SteadyTime> Pool::ScaleReplicas() {
  const std::vector<ReplicaRunner*> live = LiveReplicas();
  ScaleInput input{.scaling = deployment_->function.scaling,
                   .concurrency = deployment_->function.calls.concurrency,
                   .waiting = waiting(),
                   .not_before = not_before_};
  for (const ReplicaRunner* replica : live) {
    input.replicas.push_back({.is_running = replica->state() == ReplicaState::kRunning,
                              .in_flight = replica->in_flight(),
                              .idle_since = replica->idle_since()});
  }
  const ScaleDecision decision = Scale(input, deps_.loop.clock().Now());
  for (const size_t i : decision.stop) {
    live[i]->Stop();
  }
  for (int64_t i = 0; i < decision.start; ++i) {
    AddReplica(NewId(random_)).Start();
  }
  return decision.next;
}

bool Pool::IsDelayed() const {
  return not_before_ && *not_before_ > deps_.loop.clock().Now();
}

// Calls do not wait for a replica that is known not to come soon. One that has arrived after the
// last failure has the next replica started: what was missing may be there by now.
void Pool::RefuseHopeless() {
  if (waiting() == 0 || !LiveReplicas().empty() || problem_.ok() || failures_ == 0) {
    return;
  }
  if (IsDelayed()) {
    set_.RefuseWaiting(StartFault());
  } else if (failure_ == StartFailure::kNoGpu || failures_ >= kFailuresOfACall) {
    set_.RefuseWaitingUntil(failed_, StartFault());
  }
}

CallFault Pool::StartFault() const {
  const auto left = std::chrono::duration_cast<seconds>(not_before_.value_or(SteadyTime()) -
                                                        deps_.loop.clock().Now());
  return {kUnavailable, failure_ == StartFailure::kNoGpu ? "no-gpu" : "start", problem(),
          std::max(left, seconds(1))};
}

boost::json::object Pool::View() const {
  const std::string_view now = state();
  return set_.View(deployment_->function, static_cast<int64_t>(replicas_.size()),
                   {{"state", doc::View(now)},
                    {"problem", problem()},
                    {"deployed", FormatTime(deployment_->deployed)},
                    {"imageId", deployment_->image_id}});
}

std::string_view Pool::state() const {
  const ReplicaCounts counts = set_.counts();
  if (counts.running > 0) {
    return NameOf(ReplicaState::kRunning);
  }
  if (counts.starting > 0) {
    return NameOf(ReplicaState::kStarting);
  }
  if (counts.draining > 0) {
    return NameOf(ReplicaState::kDraining);
  }
  return failures_ > 0 && IsDelayed() ? "failing" : NameOf(ReplicaState::kCold);
}

std::string Pool::problem() const {
  return problem_.ok() || running() > 0 ? "" : std::string(Message(problem_));
}

}  // namespace kgpu::functions
