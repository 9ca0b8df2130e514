// Sockets of other device plugins on this kubelet.
#pragma once

#include <string>
#include <vector>

namespace kgpu::agent {

// Names of sockets in `folder` that begin with "nvidia" and that somebody answers on, sorted. Never
// waits: a unix socket answers at once or not at all.
std::vector<std::string> FindForeignSockets(const std::string& folder);

}  // namespace kgpu::agent
