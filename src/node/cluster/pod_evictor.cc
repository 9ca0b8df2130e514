#include "src/node/cluster/pod_evictor.h"

#include <utility>

#include "src/node/slices/slice_events.h"
#include "src/platform/base/log.h"

namespace kgpu::cluster {
namespace {

// What an answer means for people; empty: the pod ends, or is gone.
std::string ProblemOf(const StatusOr<kube::EvictionResult>& answer) {
  if (answer.ok()) {
    return *answer == kube::EvictionResult::kForbidden
               ? "its disruption budget does not allow the eviction now: it is tried again"
               : "";
  }
  if (answer.status().code() == StatusCode::kPermissionDenied) {
    return std::string(Message(answer.status())) +
           ": let agents evict pods: helm upgrade --set agent.mayEvict=true";
  }
  return std::string(Message(answer.status()));
}

}  // namespace

PodEvictor::PodEvictor(EventLoop& loop, std::unique_ptr<kube::Client> client,
                       std::function<void(kube::Event)> notify)
    : loop_(loop), client_(std::move(client)), notify_(std::move(notify)) {
}

PodEvictor::~PodEvictor() = default;

void PodEvictor::Evict(const slices::SliceUse& use) {
  DropOld();
  const std::string& uid = use.user.pod_uid;
  if (uid.empty() || requests_.contains(uid) || requests_.size() >= kMaxPods) {
    return;
  }
  Request& request = requests_[uid];
  request.asked = loop_.clock().Now();
  request.call = kube::Evict(
      *client_, {.space = use.user.pod_namespace, .name = use.user.pod, .uid = uid},
      [this, use](const StatusOr<kube::EvictionResult>& answer) { OnAnswer(use, answer); });
}

void PodEvictor::DropOld() {
  const SteadyTime now = loop_.clock().Now();
  std::erase_if(requests_, [now](const auto& entry) {
    return entry.second.call == nullptr && now - entry.second.asked >= kPause;
  });
}

void PodEvictor::OnAnswer(const slices::SliceUse& use,
                          const StatusOr<kube::EvictionResult>& answer) {
  const auto call = std::move(requests_[use.user.pod_uid].call);  // answered; `use` is a part of it
  if (const std::string problem = ProblemOf(answer); !problem.empty()) {
    KGPU_LOG(kWarning, "pod not evicted",
             {"pod", fmt::format("{}/{}", use.user.pod_namespace, use.user.pod)},
             {"problem", problem});
  } else if (*answer == kube::EvictionResult::kAccepted) {
    notify_(slices::EvictedEvent(use));
  }
}

}  // namespace kgpu::cluster
