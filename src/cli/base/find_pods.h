// Finds out once who uses the GPUs.
#pragma once

#include <string>

#include "src/gpu/device/sample.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

// The devices in use according to the kubelet of `kubelet_dir` (a path of this process), and the
// container of each process in `samples`. Its problem says what was unavailable within some
// seconds. Errors: no event loop could be created.
StatusOr<pods::PodMapPtr> FindPods(const sys::Root& host, const std::string& kubelet_dir,
                                   const device::SampleSetPtr& samples);

}  // namespace kgpu::cli
