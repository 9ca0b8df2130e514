#include "src/functions/kubernetes/function_pods.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/service/views.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/json_texts.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The watchdog ends a call at its deadline; ours is for a watchdog that does not.
constexpr milliseconds kPodDeadlineMargin = seconds(5);
// A pod that refused a call, or a connection, gets no calls for so long, unless its object changes.
constexpr milliseconds kShunned = seconds(1);
constexpr milliseconds kLongestProbePause = seconds(2);
constexpr int kServiceUnavailable = 503;
constexpr int kBadRequest = 400;

}  // namespace

FunctionPods::FunctionPods(PodsDeps deps, std::string key, std::function<void()> changed)
    : deps_(std::move(deps)),
      key_(std::move(key)),
      changed_(std::move(changed)),
      waiting_([this](FunctionCall& call, const CallFault& fault) { EndWithout(call, fault); },
               [this] {
                 has_lost_caller_ = true;
                 ScheduleSettle();
               }),
      counted_(deps_.loop.clock().Now()),
      timer_(deps_.loop) {
}

FunctionPods::~FunctionPods() {
  waiting_.RefuseAll({kServiceUnavailable, "stopping", "the gateway is stopping"});
}

void FunctionPods::Deploy(Function function, std::string template_hash) {
  function_ = std::move(function);
  template_hash_ = std::move(template_hash);
  hopeless_.reset();
  note_.clear();
  ScheduleSettle();
}

void FunctionPods::Put(const PodFacts& facts) {
  CountGpuTime();
  PodFacts& known = facts_[facts.name];
  if (known == facts) {
    return;
  }
  const SteadyTime now = deps_.loop.clock().Now();
  if (known.name.empty() && !facts.has_node) {
    // Only the start of a pod that was seen from its beginning is one to measure.
    starts_[facts.name] = {.seen = now, .since = deps_.loop.clock().WallNow()};
  }
  known = facts;
  if (const auto start = starts_.find(facts.name); start != starts_.end() && facts.has_node) {
    start->second.placed = start->second.placed.value_or(now);
  }
  if (facts.is_ending || facts.ip.empty()) {
    // Calls in progress end on connections of their own.
    pods_.erase(facts.name);
    return ScheduleSettle();
  }
  const std::string address = deps_.address(facts.ip);
  auto found = pods_.find(facts.name);
  if (found != pods_.end() && found->second.address != address) {
    pods_.erase(found);
    found = pods_.end();
  }
  if (found == pods_.end()) {
    found = pods_.try_emplace(facts.name, deps_.loop, address).first;
  }
  Pod& pod = found->second;
  pod.shunned_until = {};
  // Once the kubelet has seen it ready, its condition decides.
  pod.has_answered = pod.has_answered && (facts.is_ready || !pod.was_ready);
  pod.was_ready = pod.was_ready || facts.is_ready;
  if (!IsReady(facts.name, pod) && !pod.was_ready && pod.probe == nullptr) {
    Probe(facts.name, pod);
  }
  ScheduleSettle();
}

void FunctionPods::Remove(const std::string& pod) {
  CountGpuTime();
  facts_.erase(pod);
  pods_.erase(pod);
  starts_.erase(pod);
  ScheduleSettle();
}

// Faster than the kubelet, which asks once a second and tells the API server.
void FunctionPods::Probe(const std::string& name, Pod& pod) {
  pod.probe = std::make_unique<ReadyProbe>(
      deps_.loop, pod.address,
      [this, name](const ReadyProbe::Ready& ready) { OnProbed(name, ready); }, kLongestProbePause);
}

void FunctionPods::OnProbed(const std::string& name, const ReadyProbe::Ready& ready) {
  const auto found = pods_.find(name);
  if (found == pods_.end()) {
    return;
  }
  // This is the probe's own callback: it must live until this returns.
  const std::unique_ptr<ReadyProbe> probe = std::move(found->second.probe);
  found->second.has_answered = true;
  if (const auto start = starts_.find(name); start != starts_.end()) {
    NoteStart(start->second, ready);
  }
  ScheduleSettle();
}

void FunctionPods::NoteStart(Start& start, const ReadyProbe::Ready& ready) {
  const std::optional<SteadyTime> placed = start.placed;
  if (!placed) {
    return;
  }
  start.phases = {*placed - start.seen, ready.answered - *placed, ready.status.worker_started,
                  ready.status.worker_ready - ready.status.worker_started};
  deps_.on_cold_start(start.phases);
}

bool FunctionPods::IsReady(const std::string& name, const Pod& pod) const {
  return pod.has_answered || facts_.at(name).is_ready;
}

void FunctionPods::Take(FunctionCall call) {
  deps_.meter.OnCallStarted(key_);
  if (is_stopped_) {
    return EndWithout(call, {kServiceUnavailable, "stopping", "the function is being removed"});
  }
  if (hopeless_ && ready() == 0) {
    // The reason may be gone by now: it is looked for again.
    ScheduleSettle();
    return EndWithout(call, *hopeless_);
  }
  const SteadyTime deadline = DeadlineOf(call);
  waiting_.Add(std::move(call), deadline);
  Dispatch();
  if (!waiting_.empty()) {
    ScheduleSettle();
  }
}

SteadyTime FunctionPods::DeadlineOf(const FunctionCall& call) const {
  const SteadyTime last = call.arrived + function_.calls.timeout + deps_.start_limit;
  return std::min(call.deadline.value_or(last), last);
}

void FunctionPods::SetHopeless(std::optional<CallFault> fault) {
  hopeless_ = std::move(fault);
  if (hopeless_ && ready() == 0) {
    waiting_.RefuseAll(*hopeless_);
  }
}

void FunctionPods::Stop() {
  is_stopped_ = true;
  waiting_.RefuseAll({kServiceUnavailable, "stopping", "the function is being removed"});
  ScheduleSettle();
}

// Once for all that changes in one turn of the loop, and never from within a caller's handler.
void FunctionPods::ScheduleSettle() {
  if (std::exchange(is_settling_, true)) {
    return;
  }
  deps_.loop.Post(lifetime_.Bind([this] {
    is_settling_ = false;
    Settle();
  }));
}

void FunctionPods::Settle() {
  if (std::exchange(has_lost_caller_, false)) {
    waiting_.DropLeft();
  }
  Dispatch();
  waiting_.RefuseExpired(deps_.loop.clock().Now());
  ArmTimer();
  ShowInMeter();
  changed_();  // may destroy this
}

void FunctionPods::Dispatch() {
  waiting_.HandOver([this](FunctionCall& call) {
    // One that cannot take it is shunned: the next one is tried.
    for (const std::string* pod = FreePod(); pod != nullptr; pod = FreePod()) {
      if (HandOver(*pod, call)) {
        return true;
      }
    }
    return false;
  });
}

bool FunctionPods::IsFree(const std::string& name, const Pod& pod) const {
  return pod.in_flight < function_.calls.concurrency && IsReady(name, pod) &&
         pod.shunned_until <= deps_.loop.clock().Now();
}

// Null: none. Pods of the current template before others, then those with the fewest calls.
const std::string* FunctionPods::FreePod() const {
  const std::string* best = nullptr;
  std::pair<bool, int64_t> best_rank;
  for (const auto& [name, pod] : pods_) {
    if (!IsFree(name, pod)) {
      continue;
    }
    const std::pair rank(facts_.at(name).template_hash != template_hash_, pod.in_flight);
    if (best == nullptr || rank < best_rank) {
      best = &name;
      best_rank = rank;
    }
  }
  return best;
}

bool FunctionPods::HandOver(const std::string& name, FunctionCall& call) {
  Pod& pod = pods_.at(name);
  const uint64_t number = ++last_call_;
  const SteadyTime deadline = DeadlineOf(call);
  const auto start = [&]() -> StatusOr<std::unique_ptr<ProxiedCall>> {
    std::shared_ptr<http::ClientConnection> connection = pod.idle.Take();
    if (connection == nullptr) {
      ASSIGN_OR_RETURN(connection, ConnectPod(deps_.loop, pod.address));
    }
    return ProxiedCall::Start(
        deps_.loop, std::move(connection), call,
        {.limit = function_.calls.timeout + kPodDeadlineMargin, .gives_back = true},
        [this, number](ProxiedCall& ended, int code) { OnCallEnded(number, ended, code); });
  };
  StatusOr<std::unique_ptr<ProxiedCall>> proxied = start();
  if (proxied.ok()) {
    ++pod.in_flight;
    calls_.emplace(number, InFlight{*std::move(proxied), name, deadline});
    return true;
  }
  if (proxied.status().code() == StatusCode::kInvalidArgument) {
    EndWithout(call, {kBadRequest, "input", std::string(Message(proxied.status()))});
    return true;
  }
  pod.shunned_until = deps_.loop.clock().Now() + kShunned;
  return false;
}

void FunctionPods::OnCallEnded(uint64_t number, ProxiedCall& ended, int code) {
  auto taken = calls_.extract(number);
  const InFlight& in_flight = taken.mapped();
  const SteadyTime now = deps_.loop.clock().Now();
  const auto pod = pods_.find(in_flight.pod);
  if (pod != pods_.end()) {
    pod->second.in_flight = std::max<int64_t>(pod->second.in_flight - 1, 0);
    if (auto connection = ended.TakeConnection()) {
      pod->second.idle.Keep(std::move(connection));
    }
  }
  if (code == ProxiedCall::kNotTaken) {
    if (pod != pods_.end()) {
      pod->second.shunned_until = now + kShunned;
    }
    waiting_.PutBack(ended.TakeBack(), in_flight.deadline);
  } else {
    deps_.meter.OnCallEnded(key_, code, now - ended.arrived(), deps_.loop.clock().WallNow());
  }
  Dispatch();
  ScheduleSettle();
}

void FunctionPods::Refuse(FunctionCall& call, const CallFault& fault) {
  deps_.meter.OnCallStarted(key_);
  EndWithout(call, fault);
}

void FunctionPods::EndWithout(FunctionCall& call, const CallFault& fault) {
  CallFault full = fault;
  if (fault.fault == "no-replica" && !note_.empty()) {
    full.text += fmt::format(": {}", note_);
  }
  if (call.sink->is_open()) {
    call.sink->Refuse(full);
  }
  deps_.meter.OnCallEnded(key_, full.code, deps_.loop.clock().Now() - call.arrived,
                          deps_.loop.clock().WallNow());
}

void FunctionPods::ArmTimer() {
  timer_.Cancel();
  if (waiting_.empty()) {
    return;
  }
  const SteadyTime now = deps_.loop.clock().Now();
  SteadyTime next = waiting_.next_deadline().value_or(now + kShunned);
  for (const auto& [name, pod] : pods_) {
    if (pod.shunned_until > now) {
      next = std::min(next, pod.shunned_until);
    }
  }
  timer_.Arm(std::max(next - now, std::chrono::nanoseconds(0)), [this] { ScheduleSettle(); });
}

const PodFacts* FunctionPods::Unschedulable() const {
  const auto found = std::ranges::find_if(facts_, [](const auto& named) {
    return named.second.is_unschedulable && !named.second.has_node && !named.second.is_ending;
  });
  return found == facts_.end() ? nullptr : &found->second;
}

bool FunctionPods::HasPodWithoutNode() const {
  return std::ranges::any_of(
      facts_, [](const auto& named) { return !named.second.has_node && !named.second.is_ending; });
}

std::string FunctionPods::PodProblem() const {
  // Of pods of an earlier deployment, nobody needs to know.
  const auto found = std::ranges::find_if(facts_, [this](const auto& named) {
    const PodFacts& pod = named.second;
    return !pod.problem.empty() && !pod.is_ending && pod.template_hash == template_hash_;
  });
  return found == facts_.end() ? std::string() : found->second.problem;
}

std::string FunctionPods::Problem() const {
  if (ready() > 0) {
    return "";
  }
  return hopeless_ ? hopeless_->text : PodProblem();
}

std::string_view FunctionPods::state() const {
  if (ready() > 0) {
    return "running";
  }
  if (!Problem().empty()) {
    return "failing";
  }
  return has_live_pods() ? "starting" : "cold";
}

bool FunctionPods::has_live_pods() const {
  return std::ranges::any_of(facts_, [](const auto& named) { return !named.second.is_ending; });
}

int64_t FunctionPods::ready() const {
  return std::ranges::count_if(
      pods_, [this](const auto& named) { return IsReady(named.first, named.second); });
}

boost::json::array FunctionPods::ReplicaList() const {
  boost::json::array list;
  for (const auto& [name, facts] : facts_) {
    const auto pod = pods_.find(name);
    const bool is_ready = pod != pods_.end() && IsReady(name, pod->second);
    const std::string_view state =
        facts.is_ending ? "draining" : (is_ready ? "running" : "starting");
    boost::json::object replica = {{"id", name},
                                   {"state", doc::View(state)},
                                   {"inFlight", pod == pods_.end() ? 0 : pod->second.in_flight},
                                   {"gpuCount", facts.gpus},
                                   {"outdated", facts.template_hash != template_hash_},
                                   {"problem", facts.problem}};
    if (const auto start = starts_.find(name); start != starts_.end()) {
      boost::json::object phases;
      for (size_t i = 0; i < kStartPhases; ++i) {
        phases[doc::View(kPodPhases.at(i))] = Milliseconds(start->second.phases.at(i));
      }
      replica["since"] = FormatTime(start->second.since);
      replica["phases"] = std::move(phases);
    }
    list.push_back(std::move(replica));
  }
  return list;
}

// A GPU is held from the moment when its pod has a node until the pod has ended.
void FunctionPods::CountGpuTime() {
  const SteadyTime now = deps_.loop.clock().Now();
  const double passed = std::chrono::duration<double>(now - std::exchange(counted_, now)).count();
  if (passed <= 0) {
    return;
  }
  double held = 0;
  double busy = 0;
  for (const auto& [name, facts] : facts_) {
    if (facts.gpus == 0 || !facts.has_node) {
      continue;
    }
    held += passed * static_cast<double>(facts.gpus);
    const auto pod = pods_.find(name);
    if (pod != pods_.end() && pod->second.in_flight > 0) {
      busy += passed * static_cast<double>(facts.gpus);
    }
  }
  if (held > 0) {
    deps_.on_gpu_time(busy, held);
  }
}

void FunctionPods::ShowInMeter() {
  if (is_stopped_) {
    return;
  }
  ReplicaCounts counts{.running = ready()};
  for (const auto& [name, facts] : facts_) {
    counts.draining += facts.is_ending ? 1 : 0;
    counts.gpus += facts.has_node ? facts.gpus : 0;
  }
  counts.starting = static_cast<int64_t>(facts_.size()) - counts.draining - counts.running;
  deps_.meter.SetReplicas(key_, counts, waiting());
}

}  // namespace kgpu::functions
