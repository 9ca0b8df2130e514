// Evicts pods whose containers use more device memory than their slices allow, as far as their
// disruption budgets allow.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/kube/api/client.h"
#include "src/kube/api/event_recorder.h"
#include "src/kube/api/eviction.h"
#include "src/node/slices/excess.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::cluster {

// Lives on the loop's thread.
class PodEvictor {
 public:
  // Pods whose eviction has no answer, or whose next one waits; further ones wait for a later call.
  static constexpr size_t kMaxPods = 64;
  // Between two requests for one pod that the API server refuses.
  static constexpr std::chrono::seconds kPause{30};

  // `loop` must outlive it.
  PodEvictor(EventLoop& loop, std::unique_ptr<kube::Client> client,
             std::function<void(kube::Event)> notify);
  ~PodEvictor();
  PodEvictor(const PodEvictor&) = delete;
  PodEvictor& operator=(const PodEvictor&) = delete;

  // Asks for the eviction of the use's pod, whose UID must be known, unless it was asked for within
  // kPause. What comes of it is an event on the pod, or a line in the log.
  void Evict(const slices::SliceUse& use);

 private:
  struct Request {
    std::unique_ptr<kube::Call> call;  // null: answered
    SteadyTime asked{};
  };

  void DropOld();
  void OnAnswer(const slices::SliceUse& use, const StatusOr<kube::EvictionResult>& answer);

  EventLoop& loop_;
  std::unique_ptr<kube::Client> client_;
  const std::function<void(kube::Event)> notify_;
  std::map<std::string, Request> requests_;  // by the pod's UID
};

}  // namespace kgpu::cluster
