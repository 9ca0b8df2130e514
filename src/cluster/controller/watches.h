// Follows everything that the controller looks at, and keeps its model up to date.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/cluster/controller/model.h"
#include "src/kube/api/client.h"
#include "src/kube/api/reflector.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "src/platform/base/status.h"

namespace kgpu::controller {

struct WatchHandlers {
  std::function<void()> on_changed{};
  std::function<void(const std::string& node)> on_node_gone{};
  std::function<void(const Status&)> on_trouble{};  // may be empty
};

// Lives on the loop's thread. Starts with fresh lists: what a former leader has written is in them.
class Watches {
 public:
  // All of them must outlive the watches. `space`: of our own pods and ConfigMaps.
  Watches(EventLoop& loop, kube::Client& client, Random& random, std::string space, Model& model,
          WatchHandlers handlers);

  // Whether the model is complete.
  bool is_synced() const;
  // Whether what we know of the nodes is current, as far as we can tell: their watch has been open
  // for a while. Otherwise some may be unavailable that nobody has told us about.
  bool is_current() const;
  // The last failure, if anything is missing because of it.
  const std::string& trouble() const { return trouble_; }
  // After policies have changed: looks at more labels of nodes, if they ask for it.
  void FollowLabels();

 private:
  using Trim = std::function<void(boost::json::value&)>;

  std::unique_ptr<kube::Reflector> Follow(kube::ReflectorOptions options,
                                          kube::ReflectorHandlers handlers);
  void OnTrouble(const Status& status);
  void FollowPolicies();
  void FollowNodes();
  void FollowPods();
  void FollowNamespace();
  void ForgetNodes();

  EventLoop& loop_;
  kube::Client& client_;
  Random& random_;
  const std::string space_;
  Model& model_;
  WatchHandlers handlers_;
  fleet::KeySet keys_;  // labels that the watch of nodes keeps
  std::string trouble_;
  std::optional<SteadyTime> watching_;  // since when the watch of nodes is open
  std::unique_ptr<kube::Reflector> policies_;
  std::unique_ptr<kube::Reflector> nodes_;  // after the policies: they say which labels matter
  std::unique_ptr<kube::Reflector> pods_;
  std::unique_ptr<kube::Reflector> driver_set_;
  std::unique_ptr<kube::Reflector> config_map_;
};

}  // namespace kgpu::controller
