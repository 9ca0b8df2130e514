// Finds a process's pod and container from the cgroup names that kubelets and runtimes use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::pods {

// A pod, a container, or a container of a pod.
struct CgroupPlace {
  std::string pod_uid;       // with dashes; empty: a container outside any pod
  std::string container_id;  // of the runtime; empty: directly in the pod
  bool operator==(const CgroupPlace&) const = default;
};

// The places in the text of /proc/<pid>/cgroup, outermost first: a node in a container (kind), or
// Docker within a pod, nests them. Empty for a process of the host. Supports cgroup v1 and v2,
// kubelets with the systemd and the cgroupfs driver, containerd, CRI-O, cri-dockerd, Docker and
// Podman, and paths seen from within a cgroup namespace ("/../.."). Never fails: it ignores what it
// does not understand.
std::vector<CgroupPlace> PlacesOf(std::string_view text);

}  // namespace kgpu::pods
