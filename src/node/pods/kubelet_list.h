// The kubelet's own list of which container has which device.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/pods/pod_map.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::pods {

// A call in progress; destroying it drops the answer.
class ListCall {
 public:
  virtual ~ListCall() = default;
};

// Asks the kubelet at `socket` and calls `done` on the loop with the GPUs and MIG devices that are
// in use, as UsesOf has them: sorted, each once. Errors: NotFound, Unavailable, PermissionDenied
// (no kubelet there), DeadlineExceeded, ResourceExhausted (asked too often: pause a second),
// OutOfRange (more than 16 MiB). Source: podresources v1 List.
std::unique_ptr<ListCall> AskKubelet(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline,
                                     std::function<void(StatusOr<std::vector<DeviceUse>>)> done);

// What a ListPodResourcesResponse says, as bytes. A device with several NUMA nodes is listed once
// for each; other vendors' devices are left out, but for those of claims: which device these are is
// not known yet, their ids are empty. Errors: InvalidArgument.
StatusOr<std::vector<DeviceUse>> UsesOf(std::string_view response);

}  // namespace kgpu::pods
