#include "src/node/cluster/event_publisher.h"

#include <boost/json.hpp>

#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"

namespace kgpu::cluster {

EventPublisher::EventPublisher(EventLoop& loop, std::unique_ptr<kube::Client> client,
                               Random& random, std::string node)
    : client_(std::move(client)), recorder_(loop, *client_, random, {.instance = std::move(node)}) {
}

EventPublisher::~EventPublisher() = default;

void EventPublisher::Record(kube::Event event) {
  if (event.regarding.uid.empty() && event.regarding.kind == "Node") {
    event.regarding.uid = node_uid_;
  }
  const bool lacks_uid = event.regarding.uid.empty() && event.regarding.kind == "Pod";
  if (!lacks_uid || waiting_events_ >= kMaxWaiting) {
    recorder_.Record(event);
    return;
  }
  ++waiting_events_;
  const PodName pod{event.regarding.space, event.regarding.name};
  Waiting& waiting = waiting_[pod];
  waiting.events.push_back(std::move(event));
  if (!waiting.call) {
    AskForUid(pod);
  }
}

void EventPublisher::AskForUid(const PodName& pod) {
  kube::ApiRequest request;
  request.path = kube::kPods.Object(pod.first, pod.second);
  waiting_[pod].call = client_->Send(
      std::move(request),
      [this, pod](const StatusOr<boost::json::value>& answer) { OnPod(pod, answer); });
}

void EventPublisher::OnPod(const PodName& pod, const StatusOr<boost::json::value>& answer) {
  const auto found = waiting_.find(pod);
  if (found == waiting_.end()) {
    return;
  }
  const Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  waiting_events_ -= waiting.events.size();
  if (answer.status().code() == StatusCode::kNotFound) {
    return;
  }
  for (kube::Event event : waiting.events) {
    if (answer.ok()) {
      event.regarding.uid = std::string(kube::TextField(*answer, {"metadata", "uid"}));
    }
    recorder_.Record(event);
  }
}

}  // namespace kgpu::cluster
