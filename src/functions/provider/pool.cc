#include "src/functions/provider/pool.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/unix_socket.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The watchdog ends a call at its deadline; ours is for a watchdog that does not.
constexpr milliseconds kDeadlineMargin = seconds(5);
// A call waits through one failed start: what was killed is started again at once.
constexpr int64_t kFailuresOfACall = 2;
constexpr int kUnavailable = 503;
constexpr int kServerError = 500;

// 40 bits: names of containers, of which few exist at a time.
std::string NewId(Random& random) {
  constexpr uint64_t kMask = (uint64_t{1} << 40) - 1;
  return fmt::format("{:010x}", random.Next() & kMask);
}

}  // namespace

Pool::Pool(const ReplicaDeps& deps, Random& random, Deployment deployment)
    : deps_(deps),
      random_(random),
      deployment_(std::make_shared<const Deployment>(std::move(deployment))),
      waiting_([this](FunctionCall& call, const CallFault& fault) { Refuse(call, fault); },
               [this] {
                 has_lost_caller_ = true;
                 ScheduleSettle();
               }),
      timer_(deps.loop) {
}

Pool::~Pool() {
  waiting_.RefuseAll({kUnavailable, "stopping", "the service is stopping"});
  in_flight_.clear();
}

void Pool::Deploy(Deployment deployment, bool replaces) {
  deployment_ = std::make_shared<const Deployment>(std::move(deployment));
  failures_ = 0;
  not_before_.reset();
  problem_ = OkStatus();
  failure_ = StartFailure::kNone;
  for (const auto& replica : replicas_) {
    if (replaces || replica->deployment().hash != deployment_->hash) {
      replica->Stop();
    }
  }
  ScheduleSettle();
}

void Pool::Adopt(const FoundContainer& container, Loan loan) {
  auto changed = [this] { ScheduleSettle(); };
  replicas_.push_back(
      std::make_unique<ReplicaRunner>(deps_, deployment_, container.replica, changed));
  replicas_.back()->Adopt(container, std::move(loan));
}

void Pool::Rescale(Deployment deployment) {
  deployment_ = std::make_shared<const Deployment>(std::move(deployment));
  const std::vector<ReplicaRunner*> live = LiveReplicas();
  auto spare = static_cast<int64_t>(live.size()) - deployment_->function.scaling.min_replicas;
  for (ReplicaRunner* replica : live) {
    if (spare > 0 && replica->idle_since()) {
      replica->Stop();
      --spare;
    }
  }
  ScheduleSettle();
}

bool Pool::HasReplica(std::string_view id) const {
  return std::ranges::any_of(replicas_, [&](const auto& replica) { return replica->id() == id; });
}

void Pool::Begin() {
  is_begun_ = true;
  ScheduleSettle();
}

void Pool::Take(FunctionCall call) {
  deps_.meter.OnCallStarted(deployment_->function.name);
  if (stopped_) {
    return Refuse(call, {kUnavailable, "stopping", "the function is being removed"});
  }
  const SteadyTime deadline = DeadlineOf(call);
  waiting_.Add(std::move(call), deadline);
  Dispatch();
  if (!waiting_.empty()) {
    ScheduleSettle();
  }
}

SteadyTime Pool::DeadlineOf(const FunctionCall& call) const {
  const SteadyTime last = call.arrived + deployment_->function.calls.timeout + deps_.start_limit;
  return std::min(call.deadline.value_or(last), last);
}

void Pool::Stop(std::function<void()> done, bool needs_agent) {
  if (stopped_) {
    done = [first = std::move(stopped_), second = std::move(done)] {
      first();
      second();
    };
  }
  stopped_ = std::move(done);
  waiting_.RefuseAll({kUnavailable, "stopping", "the function is being removed"});
  for (const auto& replica : replicas_) {
    needs_agent ? replica->Stop() : replica->StopWithoutAgent();
  }
  ScheduleSettle();
}

ReplicaRunner& Pool::AddReplica() {
  auto changed = [this] { ScheduleSettle(); };
  replicas_.push_back(std::make_unique<ReplicaRunner>(deps_, deployment_, NewId(random_), changed));
  return *replicas_.back();
}

// Once for all that changes in one turn of the loop, and never from within a replica.
void Pool::ScheduleSettle() {
  if (std::exchange(is_settling_, true)) {
    return;
  }
  deps_.loop.Post(lifetime_.Bind([this] {
    is_settling_ = false;
    Settle();
  }));
}

void Pool::Settle() {
  if (std::exchange(has_lost_caller_, false)) {
    waiting_.DropLeft();
  }
  NoteFailures();
  DropEnded();
  if (stopped_ && replicas_.empty()) {
    deps_.meter.Forget(deployment_->function.name);
    const std::function<void()> done = std::exchange(stopped_, [] {});
    return done();  // may destroy this
  }
  Dispatch();
  waiting_.RefuseExpired(deps_.loop.clock().Now());
  RefuseHopeless();
  ArmTimer(is_begun_ && !stopped_ ? ScaleReplicas() : std::nullopt);
  ShowInMeter();
}

void Pool::DropEnded() {
  for (const auto& replica : replicas_) {
    if (replica->state() != ReplicaState::kGone) {
      continue;
    }
    // Their connections are broken, which the loop reports soon.
    for (auto& [number, in_flight] : in_flight_) {
      in_flight.replica = in_flight.replica == replica.get() ? nullptr : in_flight.replica;
    }
  }
  std::erase_if(replicas_,
                [](const auto& replica) { return replica->state() == ReplicaState::kGone; });
}

// As soon as a replica has failed, not when it is removed: its successor starts before that.
void Pool::NoteFailures() {
  for (const auto& replica : replicas_) {
    if (replica->deployment().hash != deployment_->hash || replica->problem().ok()) {
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

void Pool::Dispatch() {
  waiting_.HandOver([this](FunctionCall& call) {
    ReplicaRunner* replica = FreeReplica();
    // One that cannot take it is about to end.
    return replica != nullptr && HandOver(*replica, call);
  });
}

ReplicaRunner* Pool::FreeReplica() const {
  ReplicaRunner* best = nullptr;
  for (const auto& replica : replicas_) {
    const bool is_free = replica->state() == ReplicaState::kRunning &&
                         replica->in_flight() < deployment_->function.calls.concurrency;
    if (is_free && (best == nullptr || replica->in_flight() < best->in_flight())) {
      best = replica.get();
    }
  }
  return best;
}

bool Pool::HandOver(ReplicaRunner& replica, FunctionCall& call) {
  const uint64_t number = ++last_call_;
  const auto start = [&]() -> StatusOr<std::unique_ptr<ProxiedCall>> {
    auto connection = replica.connections().Take();
    const bool is_used = connection != nullptr;
    if (!is_used) {
      const std::string socket = replica.socket();
      ASSIGN_OR_RETURN(UniqueFd connected, sys::ConnectUnix(socket));
      ASSIGN_OR_RETURN(connection, http::ClientConnection::Open(deps_.loop, std::move(connected),
                                                                nullptr, socket, kAnswerLimits));
    }
    // A connection that was used may have ended meanwhile, which is no fault of the replica.
    return ProxiedCall::Start(
        deps_.loop, std::move(connection), call,
        {.limit = deployment_->function.calls.timeout + kDeadlineMargin, .gives_back = is_used},
        [this, number](ProxiedCall& ended, int code) { OnCallEnded(number, ended, code); });
  };
  StatusOr<std::unique_ptr<ProxiedCall>> proxied = start();
  if (proxied.ok()) {
    replica.BeginCall();
    in_flight_.emplace_back(number, InFlight{*std::move(proxied), &replica});
    return true;
  }
  if (proxied.status().code() == StatusCode::kInvalidArgument) {
    Refuse(call, {400, "input", std::string(Message(proxied.status()))});
    return true;
  }
  return false;
}

void Pool::OnCallEnded(uint64_t number, ProxiedCall& call, int code) {
  const auto found = std::ranges::find(in_flight_, number, &std::pair<uint64_t, InFlight>::first);
  if (found == in_flight_.end()) {
    return;
  }
  const InFlight ended = std::move(found->second);
  in_flight_.erase(found);
  if (ended.replica != nullptr) {
    if (auto connection = call.TakeConnection()) {
      ended.replica->connections().Keep(std::move(connection));
    }
    ended.replica->EndCall();
  }
  if (code == ProxiedCall::kNotTaken) {
    return TakeAgain(ended.replica, call.TakeBack());
  }
  deps_.meter.OnCallEnded(deployment_->function.name, code,
                          deps_.loop.clock().Now() - call.arrived(), deps_.loop.clock().WallNow());
  if (code < kServerError) {
    failures_ = 0;
  }
  Dispatch();
  ScheduleSettle();
}

// Over a new connection: whether that can be made tells how the replica is.
void Pool::TakeAgain(ReplicaRunner* replica, FunctionCall call) {
  while (replica != nullptr && replica->connections().Take() != nullptr) {
  }
  const SteadyTime deadline = DeadlineOf(call);
  waiting_.PutBack(std::move(call), deadline);
  Dispatch();
  ScheduleSettle();
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
    AddReplica().Start();
  }
  return decision.next;
}

bool Pool::IsDelayed() const {
  return not_before_ && *not_before_ > deps_.loop.clock().Now();
}

// Calls do not wait for a replica that is known not to come soon. One that has arrived after the
// last failure has the next replica started: what was missing may be there by now.
void Pool::RefuseHopeless() {
  if (waiting_.empty() || !LiveReplicas().empty() || problem_.ok() || failures_ == 0) {
    return;
  }
  if (IsDelayed()) {
    waiting_.RefuseAll(StartFault());
  } else if (failure_ == StartFailure::kNoGpu || failures_ >= kFailuresOfACall) {
    waiting_.RefuseUntil(failed_, StartFault());
  }
}

CallFault Pool::StartFault() const {
  const auto left = std::chrono::duration_cast<seconds>(not_before_.value_or(SteadyTime()) -
                                                        deps_.loop.clock().Now());
  return {kUnavailable, failure_ == StartFailure::kNoGpu ? "no-gpu" : "start", problem(),
          std::max(left, seconds(1))};
}

void Pool::Refuse(FunctionCall& call, const CallFault& fault) {
  if (call.sink->is_open()) {
    call.sink->Refuse(fault);
  }
  deps_.meter.OnCallEnded(deployment_->function.name, fault.code,
                          deps_.loop.clock().Now() - call.arrived, deps_.loop.clock().WallNow());
}

void Pool::ArmTimer(std::optional<SteadyTime> next) {
  timer_.Cancel();
  if (const auto expires = waiting_.next_deadline()) {
    next = std::min(next.value_or(*expires), *expires);
  }
  if (next) {
    timer_.Arm(*next - deps_.loop.clock().Now(), [this] { ScheduleSettle(); });
  }
}

void Pool::ShowInMeter() {
  ReplicaCounts counts;
  for (const auto& replica : replicas_) {
    counts.starting += replica->state() == ReplicaState::kStarting ? 1 : 0;
    counts.running += replica->state() == ReplicaState::kRunning ? 1 : 0;
    counts.draining += replica->state() == ReplicaState::kDraining ? 1 : 0;
    counts.gpus += static_cast<int64_t>(replica->loan().devices.size());
  }
  deps_.meter.SetReplicas(deployment_->function.name, counts, waiting());
}

std::vector<ReplicaView> Pool::replicas() const {
  std::vector<ReplicaView> views;
  for (const auto& replica : replicas_) {
    std::string problem(Message(replica->problem()));
    if (problem.empty()) {
      problem = replica->loan().problem;
    }
    views.push_back({.id = replica->id(),
                     .state = replica->state(),
                     .gpus = replica->loan().uuids,
                     .since = replica->since(),
                     .in_flight = replica->in_flight(),
                     .phases = replica->phases(),
                     .problem = std::move(problem),
                     .is_outdated = replica->deployment().hash != deployment_->hash});
  }
  return views;
}

int64_t Pool::running() const {
  return std::ranges::count_if(
      replicas_, [](const auto& replica) { return replica->state() == ReplicaState::kRunning; });
}

std::string_view Pool::state() const {
  const auto has = [this](ReplicaState state) {
    return std::ranges::any_of(replicas_,
                               [&](const auto& replica) { return replica->state() == state; });
  };
  for (const ReplicaState state :
       {ReplicaState::kRunning, ReplicaState::kStarting, ReplicaState::kDraining}) {
    if (has(state)) {
      return NameOf(state);
    }
  }
  return failures_ > 0 && IsDelayed() ? "failing" : NameOf(ReplicaState::kCold);
}

std::string Pool::problem() const {
  return problem_.ok() || running() > 0 ? "" : std::string(Message(problem_));
}

void Pool::CountGpuTime() {
  for (const auto& replica : replicas_) {
    replica->CountGpuTime();
  }
}

}  // namespace kgpu::functions
