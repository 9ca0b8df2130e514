// A node of a cluster, without the cluster: a kubelet that can be stopped and started, the pods
// bound to it, and a minimal scheduler.
#pragma once

#include <memory>
#include <string>

#include "src/platform/base/status.h"
#include "testing/kubelet/kubelet.h"
#include "testing/kubelet/lifeline.h"
#include "testing/kubelet/world.h"

namespace kgpu::kubelet {

// Lives on the loop's thread. The kubelet is stopped initially.
class Node {
 public:
  // `root` is the kubelet's root folder, absolute. `loop` and `runtime` must outlive the node.
  Node(EventLoop& loop, ContainerRuntime& runtime, const std::string& root);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // For settings, before the start; and for inspection.
  World& world() { return world_; }
  // Called after each visible change.
  void OnChange(std::function<void()> task) { on_change_ = std::move(task); }

  // Errors: FailedPrecondition (already running), those of Kubelet::Start.
  Status StartKubelet();
  // Does nothing if it is not running.
  void StopKubelet() { kubelet_.reset(); }
  // Null while it is stopped.
  Kubelet* kubelet() { return kubelet_.get(); }

  // The pod's UID. Errors: those of PodStore::Add.
  StatusOr<std::string> AddPod(const PodSpec& spec);
  // `key` is as in PodKey. Forced: the pod is gone at once, and the kubelet ends its running
  // containers as soon as there is one. Errors: NotFound.
  Status DeletePod(const std::string& key, bool is_forced = false);

 private:
  void Changed();
  void Schedule();
  bool Fits(const PodSpec& spec);

  World world_;
  std::function<void()> on_change_;
  std::unique_ptr<Kubelet> kubelet_;
  bool is_scheduling_ = false;
  Lifeline lifeline_;
};

}  // namespace kgpu::kubelet
