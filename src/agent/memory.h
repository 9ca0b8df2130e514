// What the agent showed when it ended, kept for its next start in the same boot: after a crash the
// kubelet must count the devices again before it refuses a pod, and a driver may take seconds to
// answer. Faults are kept too, so that a restart heals nothing, and how far the kernel's log was
// read, so that what it tells in between is not lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

struct Remembered {
  pools::Assignment assignment;  // its resources only
  std::vector<health::OpenFault> faults;
  std::optional<uint64_t> kernel_log_position;
};

// Which start may use it: the boot, and the configuration in force.
struct MemoryKey {
  std::string boot_id;
  std::string config;
  bool operator==(const MemoryKey&) const = default;
};

// "/proc/sys/kernel/random/boot_id" of `path`, trimmed; empty when it cannot be read.
std::string ReadBootId(const std::string& path);

// The text of the file.
std::string PrintMemory(const MemoryKey& key, const pools::Assignment& assignment,
                        const health::Overview& health);
// Of another configuration only the faults are remembered. Errors: InvalidArgument (not such a
// file), FailedPrecondition (of another boot).
StatusOr<Remembered> ParseMemory(std::string_view text, const MemoryKey& key);

}  // namespace kgpu::agent
