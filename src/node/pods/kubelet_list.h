// The kubelet's list of which container has which device.
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

// A call in progress; destroying it drops the reply.
class ListCall {
 public:
  virtual ~ListCall() = default;
};

// Queries the kubelet at `socket` and calls `done` on the loop with the GPUs and MIG devices that
// are in use, as UsesOf returns them: sorted, without duplicates. Errors: NotFound, Unavailable,
// PermissionDenied (no kubelet there), DeadlineExceeded, ResourceExhausted (queried too often:
// pause a second), OutOfRange (more than 16 MiB). Source: podresources v1 List.
std::unique_ptr<ListCall> AskKubelet(EventLoop& loop, const std::string& socket,
                                     std::chrono::milliseconds deadline,
                                     std::function<void(StatusOr<std::vector<DeviceUse>>)> done);

// Parses the bytes of a ListPodResourcesResponse. Lists a device with several NUMA nodes once per
// node; leaves out other vendors' devices, except those of claims, whose ids are empty because it
// is not known yet which devices they are. Errors: InvalidArgument.
StatusOr<std::vector<DeviceUse>> UsesOf(std::string_view response);

}  // namespace kgpu::pods
