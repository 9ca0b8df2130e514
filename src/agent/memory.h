// The agent's state at its end, saved for its next start in the same boot: after a crash the
// kubelet must count the devices again before it refuses a pod, and a driver may take seconds to
// answer. Parts add what they need (node::Part::Save): faults, so that a restart heals nothing; the
// position in the kernel log, so that nothing logged in between is lost.
#pragma once

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

#include "src/node/part/part.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/status.h"

namespace kgpu::agent {

// Which later start may use it: the same boot, and the same configuration.
struct MemoryKey {
  std::string boot_id;
  std::string config;
  bool operator==(const MemoryKey&) const = default;
};

// The text of `path`, "/proc/sys/kernel/random/boot_id", trimmed; empty if unreadable.
std::string ReadBootId(const std::string& path);

// The largest file that is read: several resources with as many slots as the kubelet takes.
inline constexpr size_t kMaxMemoryBytes = size_t{64} << 20;

// The text of the file, with what the parts have saved.
std::string PrintMemory(const MemoryKey& key, const pools::Assignment& assignment,
                        boost::json::object parts);
// Errors: InvalidArgument (not such a file), FailedPrecondition (from another boot).
StatusOr<node::SavedState> ParseMemory(std::string_view text, const MemoryKey& key);

}  // namespace kgpu::agent
