#include "testing/kubelet/node.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

Node::Node(EventLoop& loop, ContainerRuntime& runtime, const std::string& root)
    : world_(loop, runtime, root) {
  world_.on_change = [this] { Changed(); };
}

Node::~Node() {
  kubelet_.reset();
  world_.on_change = nullptr;
}

Status Node::StartKubelet() {
  if (kubelet_ != nullptr) {
    return FailedPrecondition("{}: the kubelet is already running", world_.layout.root);
  }
  ASSIGN_OR_RETURN(kubelet_, Kubelet::Start(world_));
  world_.Changed();
  return OkStatus();
}

StatusOr<std::string> Node::AddPod(const PodSpec& spec) {
  ASSIGN_OR_RETURN(std::string uid, world_.pods.Add(spec));
  if (!spec.waits_for_resources && kubelet_ != nullptr) {
    kubelet_->AddPod(uid);
  }
  return uid;
}

Status Node::DeletePod(const std::string& key, bool is_forced) {
  Pod* pod = world_.pods.FindKey(key);
  if (pod == nullptr) {
    return NotFound("pod {}: not found", key);
  }
  const std::string uid = pod->spec.uid;
  if (is_forced || !pod->status.is_bound) {
    world_.pods.Erase(uid);
    if (kubelet_ != nullptr) {
      kubelet_->KillPod(uid);
    }
    return OkStatus();
  }
  pod->is_terminating = true;
  if (kubelet_ != nullptr) {
    kubelet_->DeletePod(uid);
  }
  world_.Changed();
  return OkStatus();
}

void Node::Changed() {
  // Later, since whoever changed something is in the middle of it.
  if (!std::exchange(is_scheduling_, true)) {
    world_.loop.Post(lifeline_.Guard([this] {
      is_scheduling_ = false;
      Schedule();
    }));
  }
  if (on_change_) {
    on_change_();
  }
}

// Whether the node has room for the pod beside the pods that are bound to it.
bool Node::Fits(const PodSpec& spec) {
  std::map<std::string, int64_t> used;
  for (const Pod* pod : world_.pods.All()) {
    if (pod->status.is_bound && !pod->is_terminal()) {
      for (const auto& [resource, count] : RequestsOf(pod->spec)) {
        used[resource] += count;
      }
    }
  }
  return std::ranges::all_of(RequestsOf(spec), [&](const auto& request) {
    const auto& [resource, count] = request;
    const auto amount = world_.resources.find(resource);
    const int64_t allocatable = amount == world_.resources.end() ? 0 : amount->second.allocatable;
    return count == 0 || used[resource] + count <= allocatable;
  });
}

void Node::Schedule() {
  for (Pod* pod : world_.pods.All()) {
    if (pod->status.is_bound || !Fits(pod->spec)) {
      continue;
    }
    pod->status.is_bound = true;
    if (kubelet_ != nullptr) {
      kubelet_->AddPod(pod->spec.uid);
    }
    world_.Changed();
  }
}

}  // namespace kgpu::kubelet
