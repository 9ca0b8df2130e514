// What KubeProvider does when something has changed: how many replicas there should be, and why
// pods do not start.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <utility>

#include "src/functions/kubernetes/kube_provider.h"
#include "src/functions/kubernetes/resources.h"
#include "src/functions/manifests/objects.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/log.h"

namespace kgpu::functions {
namespace {

// An explanation reads the nodes and their pods: not for every call.
constexpr std::chrono::seconds kAskAgain{30};
constexpr std::chrono::seconds kTickEvery{30};
constexpr std::chrono::seconds kLookAtQueue{2};
constexpr std::chrono::nanoseconds kFirstScalePause = std::chrono::milliseconds(500);
constexpr std::chrono::nanoseconds kLongestScalePause = std::chrono::seconds(30);
constexpr std::chrono::seconds kRetryLater{30};
constexpr int kUnavailableCode = 503;

}  // namespace

void KubeProvider::SettleAll() {
  for (const auto& [key, entry] : entries_) {
    Settle(key);
  }
}

// Once for all that changes in one turn of the loop.
void KubeProvider::Settle(const std::string& key) {
  dirty_.insert(key);
  if (std::exchange(is_settle_posted_, true)) {
    return;
  }
  loop_.Post(lifetime_.Bind([this] {
    is_settle_posted_ = false;
    SettleDirty();
  }));
}

void KubeProvider::SettleDirty() {
  for (const std::string& key : std::exchange(dirty_, {})) {
    if (const auto found = entries_.find(key); found != entries_.end()) {
      SettleOne(key, found->second);
    }
  }
  DropEnded();
}

// The series of a deleted function end with its last call.
void KubeProvider::DropEnded() {
  for (auto at = ending_.begin(); at != ending_.end();) {
    if (at->second->in_flight() > 0) {
      ++at;
      continue;
    }
    const std::string key = at->first;
    at = ending_.erase(at);
    if (!entries_.contains(key) && !ending_.contains(key)) {
      meter_.Forget(key);
    }
  }
}

// What is queued, all gateways see alike: the one that scales counts it. Over the quota, it waits
// for the next day.
int64_t KubeProvider::QueuedOf(const std::string& key, const Entry& entry) const {
  return queued_ && is_scaling() && !IsOverQuota(entry) ? queued_(key) : 0;
}

bool KubeProvider::IsOverQuota(const Entry& entry) const {
  const auto quota = options_.gpu_seconds_per_day.find(entry.space);
  return quota != options_.gpu_seconds_per_day.end() && entry.facts.function.gpu.count > 0 &&
         gpu_time_->Today(entry.space) >= quota->second;
}

void KubeProvider::SettleOne(const std::string& key, Entry& entry) {
  LookAtProblem(key, entry);
  board_->Show(key, entry.pods->in_flight() + entry.pods->waiting());
  const Function& function = entry.facts.function;
  if (function.scaling.by != ScaledBy::kKgpu || entry.scaling != nullptr ||
      !watches_->is_synced()) {
    return;
  }
  const SteadyTime now = loop_.clock().Now();
  if (!std::exchange(entry.is_seeded, true)) {
    entry.window.Set(entry.facts.replicas, now);
  }
  const bool is_over_quota = IsOverQuota(entry);
  const int64_t queued = QueuedOf(key, entry);
  const int64_t calls =
      entry.pods->in_flight() + entry.pods->waiting() + board_->OthersCalls(key) + queued;
  const ScaleVerdict verdict = DecideScale(
      {.scaling = function.scaling,
       .concurrency = function.calls.concurrency,
       .calls = calls,
       .replicas = entry.facts.replicas,
       .may_lower = is_scaling() && board_->is_synced(),
       .has_pod_without_node = entry.pods->HasPodWithoutNode() && entry.pods->ready() == 0,
       .is_over_quota = is_over_quota},
      entry.window, now);
  if (verdict.replicas && *verdict.replicas != entry.facts.replicas) {
    return ScaleTo(key, entry, *verdict.replicas);
  }
  std::optional<SteadyTime> next = verdict.next;
  if (queued > 0) {
    // No event tells that the queue is empty.
    next = std::min(next.value_or(now + kLookAtQueue), now + kLookAtQueue);
  }
  if (is_over_quota) {
    next = std::min(next.value_or(now + UntilMidnight()), now + UntilMidnight());
  }
  if (next) {
    ArmEntry(key, entry, *next);
  }
}

void KubeProvider::ArmEntry(const std::string& key, Entry& entry, SteadyTime due) {
  const auto delay = std::max(due - loop_.clock().Now(), std::chrono::nanoseconds(0));
  entry.timer->Arm(delay, [this, key] { Settle(key); });
}

// Calls do not wait for pods that are known not to become ready soon.
void KubeProvider::LookAtProblem(const std::string& key, Entry& entry) {
  FunctionPods& pods = *entry.pods;
  if (pods.ready() > 0) {
    entry.asked.reset();
    pods.SetNote("");
    return pods.SetHopeless(std::nullopt);
  }
  if (const PodFacts* pod = pods.Unschedulable()) {
    return AskWhy(key, entry, *pod);
  }
  entry.asked.reset();
  const std::string problem = pods.has_live_pods() ? pods.PodProblem() : entry.facts.problem;
  if (problem.empty()) {
    return pods.SetHopeless(std::nullopt);
  }
  if (!pods.is_hopeless() && is_scaling()) {
    meter_.OnStartFailed(key, "start");
  }
  pods.SetHopeless(CallFault{kUnavailableCode, "start", problem, kRetryLater});
}

void KubeProvider::AskWhy(const std::string& key, Entry& entry, const PodFacts& pod) {
  const SteadyTime now = loop_.clock().Now();
  if (entry.is_asking || (entry.asked && *entry.asked + kAskAgain > now)) {
    return;
  }
  entry.is_asking = true;
  entry.asked = now;
  entry.pods->SetNote(pod.problem);
  explain_(
      entry.space, pod.name,
      lifetime_.Bind([this, key, name = pod.name](const StatusOr<PodExplanation>& explanation) {
        OnExplained(key, name, explanation);
      }));
}

void KubeProvider::OnExplained(const std::string& key, const std::string& pod,
                               const StatusOr<PodExplanation>& explanation) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  entry.is_asking = false;
  const PodFacts* now = entry.pods->Unschedulable();
  if (now == nullptr || now->name != pod) {
    return Settle(key);
  }
  if (!explanation.ok()) {
    KGPU_LOG(kInfo, "pod not explained", {"pod", pod}, {"reason", Message(explanation.status())});
    return;
  }
  entry.pods->SetNote(explanation->text);
  if (explanation->may_fit_later) {
    return entry.pods->SetHopeless(std::nullopt);
  }
  if (!entry.pods->is_hopeless() && is_scaling()) {
    meter_.OnStartFailed(key, "no-gpu");
  }
  entry.pods->SetHopeless(CallFault{kUnavailableCode, "no-gpu", explanation->text, kRetryLater});
}

void KubeProvider::ScaleTo(const std::string& key, Entry& entry, int64_t replicas) {
  if (loop_.clock().Now() < entry.retry_at) {
    return ArmEntry(key, entry, entry.retry_at);
  }
  KGPU_LOG(kInfo, "function scaled", {"function", key}, {"replicas", replicas},
           {"before", entry.facts.replicas});
  const boost::json::object patch = {{"spec", {{"replicas", replicas}}}};
  kube::ApiRequest request =
      kube::PatchRequest(kDeployments.Object(entry.space, entry.facts.function.name),
                         kube::PatchType::kMerge, patch, {.field_manager = kGatewayManager});
  entry.scaling = clients_.main.Send(
      std::move(request), [this, key, replicas](const StatusOr<boost::json::value>& answer) {
        OnScaled(key, replicas, answer.status());
      });
}

void KubeProvider::OnScaled(const std::string& key, int64_t replicas, const Status& status) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) {
    return;
  }
  Entry& entry = found->second;
  const auto ended = std::move(entry.scaling);
  if (status.ok()) {
    entry.facts.replicas = replicas;
    entry.failures = 0;
    return Settle(key);
  }
  if (status.code() == StatusCode::kNotFound) {
    return RemoveEntry(key);  // somebody else has deleted it
  }
  KGPU_LOG(kWarning, "function not scaled", {"function", key}, {"reason", Message(status)});
  entry.pods->SetNote(fmt::format("its Deployment cannot be scaled: {}", Message(status)));
  entry.retry_at =
      loop_.clock().Now() + DoublingPause(++entry.failures, kFirstScalePause, kLongestScalePause);
  ArmEntry(key, entry, entry.retry_at);
}

std::chrono::seconds KubeProvider::UntilMidnight() const {
  const WallTime now = loop_.clock().WallNow();
  const auto midnight = std::chrono::floor<std::chrono::days>(now) + std::chrono::days(1);
  return std::chrono::ceil<std::chrono::seconds>(midnight - now);
}

// Only while GPU time passes.
void KubeProvider::ArmTick() {
  if (!tick_.is_armed()) {
    tick_.Arm(kTickEvery, [this] { Tick(); });
  }
}

void KubeProvider::Tick() {
  bool has_pods = false;
  for (const auto& [key, entry] : entries_) {
    entry.pods->CountGpuTime();
    has_pods = has_pods || !entry.pods->pods().empty();
    if (options_.gpu_seconds_per_day.contains(entry.space)) {
      Settle(key);
    }
  }
  usage_file_.Write(usage_);
  if (has_pods) {
    ArmTick();
  }
}

}  // namespace kgpu::functions
