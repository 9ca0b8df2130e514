// The containers of the runtime below the kubelet, and the pods they belong to.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/container/cri/runtime_facts.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::cri {

struct ContainerFacts {
  std::string id;  // the runtime's: the last part of its cgroup's name
  std::string pod_namespace;
  std::string pod;
  std::string pod_uid;
  std::string container;    // the name in the pod's spec
  bool is_running = false;  // false: being created, or ended but not removed
  bool operator==(const ContainerFacts&) const = default;
};

// Queries the runtime at `socket` (a path of this process) for the kubelet's containers, and calls
// `done` on the loop. Leaves out containers without the kubelet's labels. Errors: NotFound,
// Unavailable, PermissionDenied (no such socket, nobody answers), DeadlineExceeded, Unimplemented
// (no CRI v1 there). Source: CRI v1 ListContainers; the labels are those of the kubelet's
// pkg/kubelet/types/labels.go.
std::unique_ptr<Question> ListContainers(
    EventLoop& loop, const std::string& socket, std::chrono::milliseconds deadline,
    std::function<void(StatusOr<std::vector<ContainerFacts>>)> done);

}  // namespace kgpu::cri
