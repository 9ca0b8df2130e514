// Removes the NodeFeature objects of nodes that no longer exist: their agents cannot.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::controller {

// Lives on the loop's thread.
class FeatureSweeper {
 public:
  using HasNode = std::function<bool(std::string_view node)>;

  // Looks now, whenever Sweep is called, and every hour. All of them must outlive the sweeper;
  // `space`: the namespace of the agents' objects.
  FeatureSweeper(EventLoop& loop, kube::Client& client, std::string space, HasNode has_node);
  ~FeatureSweeper();
  FeatureSweeper(const FeatureSweeper&) = delete;
  FeatureSweeper& operator=(const FeatureSweeper&) = delete;

  // Soon: several nodes may go together.
  void Sweep();
  uint64_t deleted() const { return deleted_; }

 private:
  void Arm(std::chrono::nanoseconds delay);
  void List();
  void DeleteNext();

  EventLoop& loop_;
  kube::Client& client_;
  const std::string space_;
  HasNode has_node_;
  std::vector<kube::ApiRequest> deletes_;
  std::unique_ptr<kube::Call> call_;
  Timer timer_{loop_};
  SteadyTime due_{};
  uint64_t deleted_ = 0;
};

}  // namespace kgpu::controller
