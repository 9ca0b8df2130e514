// The kubelet's log folders, whose names identify pods to agents: /var/log/pods.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/pod.h"

namespace kgpu::kubelet {

// Makes `folder` contain one "<namespace>_<pod>_<uid>/<container>" for each container that has been
// started, and nothing else. Errors: as ErrnoStatus.
Status ShowPodLogs(const std::string& folder, const std::vector<Pod*>& pods);

}  // namespace kgpu::kubelet
