// Which pod and container a process is in, by the names that kubelets and runtimes give cgroups.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kgpu::pods {

// A pod, a container, or a container of a pod.
struct CgroupPlace {
  std::string pod_uid;       // with dashes; empty: a container of no pod
  std::string container_id;  // of the runtime; empty: directly in the pod
  bool operator==(const CgroupPlace&) const = default;
};

// The places that the text of /proc/<pid>/cgroup names, the outermost first: a node in a container
// (kind), Docker within a pod and the like nest them. Empty for a process of the host. Knows cgroup
// v1 and v2, kubelets with the systemd and the cgroupfs driver, containerd, CRI-O, cri-dockerd,
// Docker and Podman, and paths seen from within a cgroup namespace ("/../.."). Never fails: what it
// does not understand is no place.
std::vector<CgroupPlace> PlacesOf(std::string_view text);

}  // namespace kgpu::pods
