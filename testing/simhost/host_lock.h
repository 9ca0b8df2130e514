// Lets one process at a time change a simulated host, through a record lock on a file in its
// folder. The kernel releases it however the process ends, and knows the holder.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::simhost {

// Held until the descriptor is closed; the file then stays. Errors: FailedPrecondition (another
// process holds it, with its pid), those of open(2).
StatusOr<UniqueFd> LockHost(const std::string& folder);

// The process that holds the lock: the state server, or a create in progress. Nothing if there is
// none or no host. Source: fcntl(2), F_GETLK.
std::optional<pid_t> LockHolder(const std::string& folder);

}  // namespace kgpu::simhost
