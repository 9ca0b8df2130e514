// The agent's state at its end, saved for its next start in the same boot: after a crash the
// kubelet must count the devices again before it refuses a pod, and a driver may take seconds to
// answer. Faults are saved too, so that a restart heals nothing, and the position in the kernel
// log, so that nothing logged in between is lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/health/health_event.h"
#include "src/node/pools/assignment.h"
#include "src/node/pools/change_guard.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

struct Remembered {
  pools::Assignment assignment;  // only its resources and local pools
  // What devices were shown as, under whatever configuration: pods may hold them as that.
  pools::ChangeGuard::Shapes shapes{};
  // Slots that pods may still use, though their devices are withdrawn or were shown under another
  // configuration.
  std::vector<pools::Resource> held{};
  std::vector<health::OpenFault> faults;
  std::optional<uint64_t> kernel_log_position;
};

// Which later start may use it: the same boot, and the same configuration.
struct MemoryKey {
  std::string boot_id;
  std::string config;
  bool operator==(const MemoryKey&) const = default;
};

// The text of `path`, "/proc/sys/kernel/random/boot_id", trimmed; empty if unreadable.
std::string ReadBootId(const std::string& path);

// The text of the file.
std::string PrintMemory(const MemoryKey& key, const pools::Assignment& assignment,
                        const health::Overview& health,
                        const pools::ChangeGuard::Shapes& shapes = {},
                        const std::vector<pools::Resource>& held = {});
// With another configuration, its slots are held ones. Errors: InvalidArgument (not
// such a file), FailedPrecondition (from another boot).
StatusOr<Remembered> ParseMemory(std::string_view text, const MemoryKey& key);

}  // namespace kgpu::agent
