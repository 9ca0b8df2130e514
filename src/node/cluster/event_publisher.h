// Writes events of the agent: adds the objects' uids, then passes the events to the
// recorder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/event_recorder.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

namespace kgpu::cluster {

// Lives on the loop's thread.
class EventPublisher {
 public:
  // `loop` and `random` must outlive it.
  EventPublisher(EventLoop& loop, std::unique_ptr<kube::Client> client, Random& random,
                 std::string node);
  ~EventPublisher();
  EventPublisher(const EventPublisher&) = delete;
  EventPublisher& operator=(const EventPublisher&) = delete;

  // The Node object's; added to events about the node that have none.
  void SetNodeUid(std::string uid) { node_uid_ = std::move(uid); }
  // An event about a pod without a uid waits until the API server has answered with it: `kubectl
  // describe` finds events by uid. Drops an event about a deleted pod. At most kMaxWaiting events
  // wait; further ones are written without a uid.
  void Record(kube::Event event);

  static constexpr size_t kMaxWaiting = 64;

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace and name
  // All events that wait for one answer.
  struct Waiting {
    std::vector<kube::Event> events;
    std::unique_ptr<kube::Call> call;
  };

  void AskForUid(const PodName& pod);
  void OnPod(const PodName& pod, const StatusOr<boost::json::value>& answer);

  std::unique_ptr<kube::Client> client_;
  kube::EventRecorder recorder_;
  std::string node_uid_;
  std::map<PodName, Waiting> waiting_;
  size_t waiting_events_ = 0;
};

}  // namespace kgpu::cluster
