// Processes that the kernel has killed because the container's memory was used up.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/platform/sys/root.h"

namespace kgpu::watchdog {

// The number in a cgroup's memory.events, or in memory.oom_control of version 1; 0: it has none.
uint64_t ParseMemoryKills(std::string_view text);

// How many there have been in the container whose first process this is; `root` is its root folder.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst, memory.events.
uint64_t MemoryKills(const sys::Root& root);

}  // namespace kgpu::watchdog
