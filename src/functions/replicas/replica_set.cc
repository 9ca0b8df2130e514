#include "src/functions/replicas/replica_set.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/replicas/watchdog_route.h"
#include "src/functions/service/views.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The watchdog ends a call at its deadline; ours is for a watchdog that does not.
constexpr milliseconds kDeadlineMargin = seconds(5);
constexpr int kStoppingCode = 503;
constexpr int kBadInputCode = 400;

CallFault Removed() {
  return {kStoppingCode, "stopping", "the function is being removed"};
}

}  // namespace

ReplicaSet::ReplicaSet(EventLoop& loop, Meter& meter, ReplicaBackend& backend,
                       ReplicaSetOptions options)
    : loop_(loop),
      meter_(meter),
      backend_(backend),
      options_(std::move(options)),
      waiting_([this](FunctionCall& call, const CallFault& fault) { EndWithout(call, fault); },
               [this] {
                 has_lost_caller_ = true;
                 ScheduleSettle();
               }),
      timer_(loop) {
}

ReplicaSet::~ReplicaSet() {
  waiting_.RefuseAll({kStoppingCode, "stopping", "the service is stopping"});
}

void ReplicaSet::Deploy(const Calls& calls, std::string revision) {
  settings_ = calls;
  revision_ = std::move(revision);
  ScheduleSettle();
}

void ReplicaSet::Remove(const Replica& replica) {
  // The calls of a replica that is gone end with their connections, which the loop reports soon.
  for (auto& [number, call] : calls_) {
    call.replica = call.replica == &replica ? nullptr : call.replica;
  }
  std::erase(replicas_, &replica);
}

void ReplicaSet::Take(FunctionCall call) {
  if (is_stopped_) {
    return Refuse(call, Removed());
  }
  meter_.OnCallStarted(options_.key);
  const SteadyTime deadline = DeadlineOf(call);
  waiting_.Add(std::move(call), deadline);
  Dispatch();
  if (!waiting_.empty()) {
    ScheduleSettle();
  }
}

void ReplicaSet::Refuse(FunctionCall& call, const CallFault& fault) {
  meter_.OnCallStarted(options_.key);
  EndWithout(call, fault);
}

SteadyTime ReplicaSet::DeadlineOf(const FunctionCall& call) const {
  const SteadyTime last = call.arrived + settings_.timeout + options_.start_limit;
  return std::min(call.deadline.value_or(last), last);
}

void ReplicaSet::Stop(bool is_shown) {
  is_stopped_ = true;
  is_shown_ = is_shown;
  waiting_.RefuseAll(Removed());
  ScheduleSettle();
}

// Never from within a replica, or a caller's handler.
void ReplicaSet::ScheduleSettle() {
  if (std::exchange(is_settling_, true)) {
    return;
  }
  loop_.Post(lifetime_.Bind([this] {
    is_settling_ = false;
    Settle();
  }));
}

void ReplicaSet::Settle() {
  if (std::exchange(has_lost_caller_, false)) {
    waiting_.DropLeft();
  }
  Dispatch();
  waiting_.RefuseExpired(loop_.clock().Now());
  ArmTimer(backend_.Settle());
  if (is_shown_) {
    meter_.SetReplicas(options_.key, counts(), waiting());
  }
}

void ReplicaSet::ArmTimer(std::optional<SteadyTime> next) {
  timer_.Cancel();
  const SteadyTime now = loop_.clock().Now();
  const auto consider = [&next](SteadyTime time) { next = std::min(next.value_or(time), time); };
  if (const auto expires = waiting_.next_deadline(); expires && !waiting_.empty()) {
    consider(*expires);
  }
  for (const Replica* replica : replicas_) {
    if (replica->shunned_until_ > now && !waiting_.empty()) {
      consider(replica->shunned_until_);
    }
  }
  if (next) {
    timer_.Arm(std::max(*next - now, std::chrono::nanoseconds(0)), [this] { ScheduleSettle(); });
  }
}

void ReplicaSet::Dispatch() {
  waiting_.HandOver([this](FunctionCall& call) { return HandOverToAny(call); });
}

bool ReplicaSet::HandOverToAny(FunctionCall& call) {
  for (Replica* replica = FreeReplica(); replica != nullptr; replica = FreeReplica()) {
    if (HandOver(*replica, call)) {
      return true;
    }
    if (are_local()) {
      return false;
    }
    replica->shunned_until_ = loop_.clock().Now() + options_.shun;
  }
  return false;
}

// Null: none. Those of the current revision before others, then those with the fewest calls.
Replica* ReplicaSet::FreeReplica() const {
  const SteadyTime now = loop_.clock().Now();
  const auto rank = [this](const Replica& replica) {
    return std::pair(replica.revision() != revision_, replica.in_flight());
  };
  Replica* best = nullptr;
  for (Replica* replica : replicas_) {
    const bool is_free = replica->state() == ReplicaState::kRunning &&
                         replica->in_flight() < settings_.concurrency &&
                         replica->shunned_until_ <= now;
    if (is_free && (best == nullptr || rank(*replica) < rank(*best))) {
      best = replica;
    }
  }
  return best;
}

// A connection that is being made: what is sent waits for it.
StatusOr<std::shared_ptr<http::ClientConnection>> ReplicaSet::Connect(
    const std::string& address) const {
  ASSIGN_OR_RETURN(UniqueFd socket, ConnectToWatchdog(address));
  return http::ClientConnection::Open(loop_, std::move(socket), nullptr, address, kAnswerLimits);
}

bool ReplicaSet::HandOver(Replica& replica, FunctionCall& call) {
  const uint64_t number = ++last_call_;
  const auto start = [&]() -> StatusOr<std::unique_ptr<ProxiedCall>> {
    std::shared_ptr<http::ClientConnection> connection = replica.idle_.Take();
    // A connection that was used may have ended meanwhile, which is no fault of the replica.
    const bool gives_back = connection != nullptr || !are_local();
    if (connection == nullptr) {
      ASSIGN_OR_RETURN(connection, Connect(replica.address()));
    }
    return ProxiedCall::Start(
        loop_, std::move(connection), call,
        {.limit = settings_.timeout + kDeadlineMargin, .gives_back = gives_back},
        [this, number](ProxiedCall& ended, int code) { OnCallEnded(number, ended, code); });
  };
  StatusOr<std::unique_ptr<ProxiedCall>> proxied = start();
  if (proxied.ok()) {
    calls_.emplace(number, InFlight{*std::move(proxied), &replica});
    replica.BeginCall();
    return true;
  }
  if (proxied.status().code() == StatusCode::kInvalidArgument) {
    EndWithout(call, {kBadInputCode, "input", std::string(Message(proxied.status()))});
    return true;
  }
  return false;
}

void ReplicaSet::OnCallEnded(uint64_t number, ProxiedCall& ended, int code) {
  const auto taken = calls_.extract(number);
  Replica* replica = taken.mapped().replica;
  if (replica != nullptr) {
    if (auto connection = ended.TakeConnection()) {
      replica->idle_.Keep(std::move(connection));
    }
    replica->EndCall();
  }
  if (code == ProxiedCall::kNotTaken) {
    OnNotTaken(replica, ended.TakeBack());
  } else {
    meter_.OnCallEnded(options_.key, code, loop_.clock().Now() - ended.arrived(),
                       loop_.clock().WallNow());
    backend_.OnAnswer(code);
  }
  Dispatch();
  ScheduleSettle();
}

void ReplicaSet::OnNotTaken(Replica* replica, FunctionCall call) {
  if (replica != nullptr && are_local()) {
    // Over a new connection: whether that can be made tells how the replica is.
    replica->DropConnections();
  } else if (replica != nullptr) {
    replica->shunned_until_ = loop_.clock().Now() + options_.shun;
  }
  const SteadyTime deadline = DeadlineOf(call);
  waiting_.PutBack(std::move(call), deadline);
}

void ReplicaSet::EndWithout(FunctionCall& call, const CallFault& fault) {
  CallFault full = fault;
  if (fault.fault == "no-replica" && !note_.empty()) {
    full.text += fmt::format(": {}", note_);
  }
  if (call.sink->is_open()) {
    call.sink->Refuse(full);
  }
  meter_.OnCallEnded(options_.key, full.code, loop_.clock().Now() - call.arrived,
                     loop_.clock().WallNow());
}

void ReplicaSet::CountGpuTime() {
  for (Replica* replica : replicas_) {
    replica->CountGpuTime();
  }
}

ReplicaCounts ReplicaSet::counts() const {
  ReplicaCounts counts;
  for (const Replica* replica : replicas_) {
    counts.starting += replica->state() == ReplicaState::kStarting ? 1 : 0;
    counts.running += replica->state() == ReplicaState::kRunning ? 1 : 0;
    counts.draining += replica->state() == ReplicaState::kDraining ? 1 : 0;
    counts.gpus += replica->gpus();
  }
  return counts;
}

boost::json::array ReplicaSet::ReplicaList() const {
  boost::json::array list;
  for (const Replica* replica : replicas_) {
    const std::string_view state = NameOf(replica->state());
    boost::json::object entry{{"id", replica->id()},
                              {"state", doc::View(state)},
                              {"inFlight", replica->in_flight()},
                              {"outdated", replica->revision() != revision_}};
    replica->Describe(entry);
    list.push_back(std::move(entry));
  }
  return list;
}

boost::json::object ReplicaSet::View(const Function& function, int64_t replicas,
                                     boost::json::object now) const {
  now["inFlight"] = meter_.in_flight(options_.key);
  now["waiting"] = waiting();
  now["replicaList"] = ReplicaList();
  return FunctionView(
      function, {.calls = meter_.calls(options_.key), .replicas = replicas, .available = running()},
      std::move(now));
}

}  // namespace kgpu::functions
