// What the cluster adds to the labels of this node: NodeFeatureRule objects, and NodeFeature
// objects of others about it. Follows them where the cluster has NFD's API, and asks rarely where
// it has not.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/backoff.h"
#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/node/labels/label_source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"

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

  // False until it is known what the cluster adds: nothing may be taken off the node before. A
  // collection that is not there, or not for us, adds nothing; it is believed when reported twice.
  bool is_known() const;
  bool has_api() const { return has_api_; }
  // Read again only after a change. Never null.
  std::shared_ptr<const labels::ClusterLabels> labels();
  // Objects that could not be read, for people.
  const std::vector<std::string>& problems();

 private:
  // One collection that is followed, or was refused.
  struct Followed {
    std::string path;
    std::string label_selector;
    size_t max_objects = 0;
    std::unique_ptr<kube::Reflector> reflector{};
    int refusals = 0;       // in a row
    std::string refusal{};  // why there is nothing to follow
    TimerId again = TimerId::kNone;

    bool is_known() const { return (reflector && reflector->is_synced()) || !refusal.empty(); }
  };

  void AskIn(std::chrono::nanoseconds delay);
  void Ask();
  void OnApi(const Status& status);
  void Follow(Followed& followed);
  void OnTrouble(Followed& followed, const Status& status);
  void Changed();
  void Read();
  void ReadRules(labels::ClusterLabels& found);
  void ReadFeatures(labels::ClusterLabels& found);

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  const std::string node_;
  const std::string own_namespace_;
  const std::string own_object_;
  std::function<void()> changed_;
  kube::Backoff backoff_;
  bool has_api_ = false;
  int absences_ = 0;  // answers in a row that there is no such API
  std::unique_ptr<kube::Call> call_;
  Followed rules_;
  Followed features_;
  std::shared_ptr<const labels::ClusterLabels> labels_;  // null: to be read
  std::vector<std::string> problems_;                    // of the same reading
  TimerId ask_timer_ = TimerId::kNone;
  TimerId settle_timer_ = TimerId::kNone;
};

}  // namespace kgpu::agent
