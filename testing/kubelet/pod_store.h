// The API server's view of this node: pods and the node's resources. It outlives the kubelet.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

// One line of the node's status.
struct ResourceAmount {
  int64_t capacity = 0;
  int64_t allocatable = 0;
  bool operator==(const ResourceAmount&) const = default;
};
using NodeResources = std::map<std::string, ResourceAmount>;

// "default" is left out: "gpu-pod", "kube-system/dns".
std::string PodKey(const std::string& name_space, const std::string& name);

// Lives on the loop's thread.
class PodStore {
 public:
  // `changed` is called after each change.
  explicit PodStore(std::function<void()> changed) : changed_(std::move(changed)) {}

  // Fills in what the spec leaves out (UID, names of containers). Errors: AlreadyExists,
  // InvalidArgument (the name of the field).
  StatusOr<std::string> Add(PodSpec spec);  // the UID
  void Erase(const std::string& uid);
  // Unchanged, for a store that was written to disk.
  void Restore(std::vector<Pod> pods);

  // Null if there is none; valid until the pod is erased. After a change, call Changed.
  Pod* FindUid(const std::string& uid);
  Pod* FindKey(const std::string& key);
  std::vector<Pod*> All();  // in the order in which they were added
  void Changed() const { changed_(); }
  // Counts an event that is the same as an earlier one. Does nothing if the pod is gone.
  void AddEvent(const std::string& uid, const std::string& reason, const std::string& message);

 private:
  std::function<void()> changed_;
  std::map<uint64_t, Pod> pods_;
  uint64_t next_ = 1;
};

}  // namespace kgpu::kubelet
