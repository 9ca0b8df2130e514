// Follows the objects by which the cluster adds labels to this node: NodeFeatureRule objects, and
// other NodeFeature objects about it. Follows them if the cluster has NFD's API, and otherwise
// checks rarely.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/node/labels/label_source.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/timer.h"

namespace kgpu::cluster {

// Lives on the loop's thread.
class RuleWatch {
 public:
  // `own_object` is the NodeFeature that we write ourselves. Calls `changed` from the loop when
  // labels() has changed. All references must outlive the watch.
  RuleWatch(EventLoop& loop, kube::Client& client, Random& random, std::string node,
            std::string own_namespace, std::string own_object, std::function<void()> changed);
  RuleWatch(const RuleWatch&) = delete;
  RuleWatch& operator=(const RuleWatch&) = delete;

  // False until we know what the cluster adds: remove nothing from the node before. A missing or
  // forbidden collection adds nothing; that counts after two such answers.
  bool is_known() const;
  bool has_api() const { return has_api_; }
  // Re-read only after a change. Never null.
  std::shared_ptr<const labels::ClusterLabels> labels();
  // Unreadable objects, for people.
  const std::vector<std::string>& problems();

 private:
  // A collection that we follow, or that was refused.
  struct Followed {
    std::string path;
    std::string label_selector;
    size_t max_objects = 0;
    std::unique_ptr<kube::Reflector> reflector{};
    int refusals = 0;       // in a row
    std::string refusal{};  // why it cannot be followed
    Timer again;            // asks again after a refusal

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
  Backoff backoff_;
  bool has_api_ = false;
  int absences_ = 0;  // consecutive answers that there is no such API
  std::unique_ptr<kube::Call> call_;
  Followed rules_;
  Followed features_;
  std::shared_ptr<const labels::ClusterLabels> labels_;  // null: must be read
  std::vector<std::string> problems_;                    // from the same read
  Timer ask_timer_{loop_};
  Timer settle_timer_{loop_};
};

}  // namespace kgpu::cluster
