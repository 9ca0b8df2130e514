// Containers that need kgpu-runtime until they end: their engine calls it to stop and remove them.
#pragma once

#include <string>
#include <vector>

#include "src/platform/sys/root.h"

namespace kgpu::engine {

// Ids of the containers that `program` (a path of the host) started and that are still there,
// sorted: of containerd, Docker's and k3s's too, by their bundles, of podman and CRI-O by their
// monitors.
std::vector<std::string> RuntimeUsers(const sys::Root& host, const std::string& program);

}  // namespace kgpu::engine
