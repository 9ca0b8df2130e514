// What the node module needs to know about the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::node {

// Sockets of other device plugins for NVIDIA GPUs on which somebody answers, sorted by name.
// Connects to each once, so it skips socket files that were left behind. `folder` is the kubelet's
// device-plugins/. Empty if it is unreadable.
std::vector<std::string> ForeignPluginSockets(const std::string& folder);

// Whether GFD's feature file is in NFD's features.d/.
bool HasGfdFile(const sys::Root& host);

// When the host booted. Errors: NotFound, Unavailable (no /proc/stat, or no btime in it).
StatusOr<WallTime> BootTime(const sys::Root& host);

}  // namespace kgpu::node
