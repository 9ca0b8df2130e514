// What is known of the containers of this node, and by whom: the container runtime, else the
// kubelet's folder of logs.
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

// What the kubelet's folders of logs tell, by uid.
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
  // The runtime's whole list: what was known before is forgotten. Containers that do not run have
  // no processes.
  void Learn(const std::vector<cri::ContainerFacts>& containers);
  // The same of the folders of logs.
  void LearnLogs(LoggedPods pods);

  // The container of the outermost of `places` that is known: a container inside a pod is the
  // pod's. Where only the pod is known its container has no name, unless the pod has just one.
  std::optional<Container> Find(const std::vector<CgroupPlace>& places) const;
  // Whether the runtime has sent its list.
  bool has_runtime() const { return has_runtime_; }
  // Whether the runtime itself has reported one of `places`.
  bool IsKnown(const std::vector<CgroupPlace>& places) const;
  // Of the pod whose containers run now, or that has logs; empty: not known.
  std::string UidOf(const PodName& pod) const;
  bool IsRunning(const PodName& pod) const;

 private:
  std::map<std::string, Container> by_id_;  // of the runtime
  LoggedPods by_uid_;                       // of the folders
  std::map<PodName, std::string> running_;  // → uid, of the runtime
  std::map<PodName, std::string> logged_;   // → uid, of the folders
  bool has_runtime_ = false;
};

}  // namespace kgpu::pods
