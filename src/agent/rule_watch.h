// What the cluster adds to the labels of this node: NodeFeatureRule objects, and NodeFeature
// objects of others about it. Follows them where the cluster has NFD's API, and asks rarely where
// it has not.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/base/event_loop.h"
#include "src/base/random.h"
#include "src/kube/client.h"
#include "src/kube/reflector.h"
#include "src/labels/label_source.h"

namespace kgpu::agent {

// Lives on the loop's thread.
class RuleWatch {
 public:
  // `own_object` is the NodeFeature that we write ourselves. `changed` is called from the loop when
  // labels() has changed. All references outlive the watch.
  RuleWatch(EventLoop& loop, kube::Client& client, Random& random, std::string node,
            std::string own_namespace, std::string own_object, std::function<void()> changed);
  ~RuleWatch();
  RuleWatch(const RuleWatch&) = delete;
  RuleWatch& operator=(const RuleWatch&) = delete;

  // False until it is known what the cluster adds: nothing may be taken off the node before.
  bool is_known() const { return is_known_; }
  labels::ClusterLabels labels() const;
  // Objects that could not be read, for people.
  std::vector<std::string> problems() const;

 private:
  void Ask();
  void OnApi(const Status& status);
  void Follow();
  void Changed();

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  const std::string node_;
  const std::string own_namespace_;
  const std::string own_object_;
  std::function<void()> changed_;
  bool is_known_ = false;
  std::unique_ptr<kube::Call> call_;
  std::unique_ptr<kube::Reflector> rules_;
  std::unique_ptr<kube::Reflector> features_;
  TimerId again_ = TimerId::kNone;
  TimerId settle_ = TimerId::kNone;
};

}  // namespace kgpu::agent
