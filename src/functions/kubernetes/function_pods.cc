#include "src/functions/kubernetes/function_pods.h"

#include <boost/json/object.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/service/views.h"
#include "src/platform/base/time_text.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A pod that refused a call, or a connection, gets no calls for so long, unless its object changes.
constexpr milliseconds kShunned = seconds(1);
constexpr milliseconds kLongestProbePause = seconds(2);

}  // namespace

FunctionPod::FunctionPod(const PodsDeps& deps, ReplicaSet& set, const PodFacts& facts)
    : Replica(set, facts.name), deps_(deps) {
  if (!facts.has_node) {
    start_ = {.seen = deps_.loop.clock().Now(), .since = deps_.loop.clock().WallNow()};
  }
}

void FunctionPod::Put(const PodFacts& facts) {
  if (facts_ == facts) {
    return;
  }
  facts_ = facts;
  if (start_ && facts.has_node && !start_->placed) {
    start_->placed = deps_.loop.clock().Now();
  }
  SetGpus(facts.has_node ? facts.gpus : 0);
  SetAddress(facts.is_ending || facts.ip.empty() ? "" : deps_.address(facts.ip));
  ClearRefusal();
  // Once the kubelet has seen it ready, its condition decides.
  has_answered_ = has_answered_ && (facts.is_ready || !was_ready_);
  was_ready_ = was_ready_ || facts.is_ready;
  if (!address_.empty() && !is_ready() && !was_ready_ && probe_ == nullptr) {
    Probe();
  }
  Changed();
}

void FunctionPod::SetAddress(const std::string& address) {
  if (std::exchange(address_, address) == address) {
    return;
  }
  DropConnections();
  probe_.reset();
  has_answered_ = false;
  was_ready_ = false;
}

// Faster than the kubelet, which asks once a second and tells the API server.
void FunctionPod::Probe() {
  probe_ = std::make_unique<ReadyProbe>(
      deps_.loop, address_, [this](const ReadyProbe::Ready& ready) { OnProbed(ready); },
      kLongestProbePause);
}

void FunctionPod::OnProbed(const ReadyProbe::Ready& ready) {
  // This is the probe's own callback: it must live until this returns.
  const std::unique_ptr<ReadyProbe> probe = std::move(probe_);
  has_answered_ = true;
  if (start_ && start_->placed) {
    const SteadyTime placed = *start_->placed;
    start_->phases = {placed - start_->seen, ready.answered - placed, ready.status.worker_started,
                      ready.status.worker_ready - ready.status.worker_started};
    deps_.on_cold_start(start_->phases);
  }
  Changed();
}

ReplicaState FunctionPod::state() const {
  if (facts_.is_ending) {
    return ReplicaState::kDraining;
  }
  return !address_.empty() && is_ready() ? ReplicaState::kRunning : ReplicaState::kStarting;
}

void FunctionPod::Describe(boost::json::object& entry) const {
  entry["gpuCount"] = facts_.gpus;
  entry["problem"] = facts_.problem;
  if (start_) {
    entry["since"] = FormatTime(start_->since);
    entry["phases"] = PhasesView(kPodPhases, start_->phases);
  }
}

FunctionPods::FunctionPods(PodsDeps deps, const std::string& key, std::function<void()> changed)
    : deps_(std::move(deps)),
      changed_(std::move(changed)),
      set_(deps_.loop, deps_.meter, *this,
           {.key = key,
            .start_limit = deps_.start_limit,
            .shun = kShunned,
            .on_gpu_time = deps_.on_gpu_time}) {
}

void FunctionPods::Deploy(Function function, std::string template_hash) {
  function_ = std::move(function);
  template_hash_ = std::move(template_hash);
  hopeless_.reset();
  set_.SetNote("");
  set_.Deploy(function_.calls, template_hash_);
}

void FunctionPods::Put(const PodFacts& facts) {
  std::unique_ptr<FunctionPod>& pod = pods_[facts.name];
  if (pod == nullptr) {
    pod = std::make_unique<FunctionPod>(deps_, set_, facts);
  }
  pod->Put(facts);
}

void FunctionPods::Remove(const std::string& pod) {
  if (const auto found = pods_.find(pod); found != pods_.end()) {
    found->second->CountGpuTime();
    pods_.erase(found);
  }
  set_.ScheduleSettle();
}

void FunctionPods::Take(FunctionCall call) {
  if (hopeless_ && ready() == 0) {
    // The reason may be gone by now: it is looked for again.
    set_.ScheduleSettle();
    return set_.Refuse(call, *hopeless_);
  }
  set_.Take(std::move(call));
}

void FunctionPods::SetHopeless(std::optional<CallFault> fault) {
  hopeless_ = std::move(fault);
  if (hopeless_ && ready() == 0) {
    set_.RefuseWaiting(*hopeless_);
  }
}

void FunctionPods::Stop() {
  for (const auto& [name, pod] : pods_) {
    pod->Leave();
  }
  set_.Stop(false);
}

std::optional<SteadyTime> FunctionPods::Settle() {
  changed_();
  return std::nullopt;
}

const PodFacts* FunctionPods::FindPod(const std::function<bool(const PodFacts&)>& is_it) const {
  const auto found = std::ranges::find_if(pods_, [&](const auto& named) {
    const PodFacts& pod = named.second->facts();
    return !pod.is_ending && is_it(pod);
  });
  return found == pods_.end() ? nullptr : &found->second->facts();
}

const PodFacts* FunctionPods::Unschedulable() const {
  return FindPod([](const PodFacts& pod) { return pod.is_unschedulable && !pod.has_node; });
}

bool FunctionPods::HasPodWithoutNode() const {
  return FindPod([](const PodFacts& pod) { return !pod.has_node; }) != nullptr;
}

std::string FunctionPods::PodProblem() const {
  // Pods of an earlier deployment are no problem.
  const PodFacts* found = FindPod([this](const PodFacts& pod) {
    return !pod.problem.empty() && pod.template_hash == template_hash_;
  });
  return found == nullptr ? std::string() : found->problem;
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
  return FindPod([](const PodFacts&) { return true; }) != nullptr;
}

boost::json::object FunctionPods::View(int64_t replicas, boost::json::object now) const {
  return set_.View(function_, replicas, std::move(now));
}

}  // namespace kgpu::functions
