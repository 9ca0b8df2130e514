// How parts of the host become CDI edits, the same in every spec.
#pragma once

#include <array>
#include <string_view>

#include "src/container/cdi/spec.h"
#include "src/container/inject/host_parts.h"

namespace kgpu::inject {

// Mount options of files and folders.
inline constexpr std::array<std::string_view, 5> kReadOnlyMount = {"ro", "nosuid", "nodev", "rbind",
                                                                   "rprivate"};

// With the numbers of the host's node, readable and writable, but never "m": a container cannot
// create nodes.
cdi::DeviceNode ToNode(const NodePart& part);

}  // namespace kgpu::inject
