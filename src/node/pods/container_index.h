// The containers of this node, according to the container runtime, else to the kubelet's log
// folders.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/container/cri/containers.h"
#include "src/node/pods/cgroup.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/sys/root.h"

namespace kgpu::pods {

// Namespace and name.
using PodName = std::pair<std::string, std::string>;

// What the kubelet's log folders tell, by uid.
struct LoggedPod {
  PodName name;
  std::vector<std::string> containers;
};
using LoggedPods = std::map<std::string, LoggedPod>;

// Reads var/log/pods/<namespace>_<pod>_<uid>/<container>/ below `host`. Blocks on the disk. Errors:
// NotFound, PermissionDenied.
StatusOr<LoggedPods> ReadLoggedPods(const sys::Root& host);

class ContainerIndex {
 public:
  // The runtime's complete list: replaces everything known before. Containers that do not run have
  // no processes.
  void Learn(const std::vector<cri::ContainerFacts>& containers);
  // The same for the log folders.
  void LearnLogs(LoggedPods pods);

  // The container of the outermost known place in `places`: a container inside a pod is the pod's.
  // If only the pod is known, its container has no name, unless the pod has just one.
  std::optional<Container> Find(const std::vector<CgroupPlace>& places) const;
  // Whether the runtime has sent its list.
  bool has_runtime() const { return has_runtime_; }
  // Whether the runtime itself has reported one of `places`.
  bool IsKnown(const std::vector<CgroupPlace>& places) const;
  // The uid of the pod that runs now, or that has logs; empty: unknown.
  std::string UidOf(const PodName& pod) const;
  bool IsRunning(const PodName& pod) const;

 private:
  std::map<std::string, Container> by_id_;  // from the runtime
  LoggedPods by_uid_;                       // from the folders
  std::map<PodName, std::string> running_;  // → uid, from the runtime
  std::map<PodName, std::string> logged_;   // → uid, from the folders
  bool has_runtime_ = false;
};

}  // namespace kgpu::pods
