// Who uses the GPUs, found once.
#pragma once

#include <string>

#include "src/gpu/device/sample.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

// What the kubelet of `kubelet_dir` (a path of this process) says of devices, and which container
// each process of `samples` is in. What cannot be had within some seconds is reported in its
// problem. Errors: an event loop cannot be had.
StatusOr<pods::PodMapPtr> FindPods(const sys::Root& host, const std::string& kubelet_dir,
                                   const device::SampleSetPtr& samples);

}  // namespace kgpu::cli
