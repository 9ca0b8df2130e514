// What the node module has to know of the host itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::node {

// Sockets of others' device plugins for NVIDIA GPUs that somebody answers on, by name, sorted. A
// socket file that was left behind is none: each is called once. `folder` is the kubelet's
// device-plugins/. Empty where it cannot be read.
std::vector<std::string> ForeignPluginSockets(const std::string& folder);

// Whether GFD's feature file is in NFD's features.d/.
bool HasGfdFile(const sys::Root& host);

// When the host was started. Errors: NotFound, Unavailable (no /proc/stat there, no btime in it).
StatusOr<WallTime> BootTime(const sys::Root& host);

}  // namespace kgpu::node
