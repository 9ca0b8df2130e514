// Containers that need kgpu-runtime until they end: their engine calls it to stop and remove them.
#pragma once

#include <string>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Ids, sorted, of the existing containers that `program` (a path on the host) started: found by
// their bundles for containerd (also Docker's and those of k3s, k0s and MicroK8s), by their
// monitors for podman and CRI-O.
std::vector<std::string> RuntimeUsers(const sys::Root& host, const std::string& program);

}  // namespace kgpu::engine
