// The memory, descriptors and time of a daemon, from /proc.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kgpu::soak {

// Memory and descriptors at a moment of rest.
struct Footprint {
  size_t round = 0;
  std::chrono::steady_clock::time_point at{};
  size_t memory_kib = 0;
  size_t files = 0;
};

Footprint Measure(pid_t pid, size_t round);
std::chrono::milliseconds CpuTime(pid_t pid);

// Of one life of a daemon. Returns "" or what has grown: at the end, more than a twentieth of
// memory, or a few descriptors, over the values after the first tenth, which is ten minutes or
// more: as long as devices that are gone are remembered.
std::string Growth(std::string_view daemon, const std::vector<Footprint>& life);

}  // namespace kgpu::soak
