// Ends the processes that use a GPU instance.
#pragma once

#include <chrono>
#include <vector>

#include "src/node/mig/host.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

// SIGTERM, and SIGKILL to those that are still there after `grace`; waits until all are gone.
// Errors: FailedPrecondition (a pod uses it, which only its cluster can move; or `host` is not the
// running system, whose processes these numbers do not name), PermissionDenied, DeadlineExceeded.
Status EvictMigUsers(const sys::Root& host, const std::vector<const mig::User*>& users,
                     std::chrono::milliseconds grace);

}  // namespace kgpu::cli
