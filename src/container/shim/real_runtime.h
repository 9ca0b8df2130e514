// The runtime behind the shim.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

// The path of the first of `runtimes` that is an executable file on `host` and not the file that
// `self` describes. Searches names in the system program folders, never in $PATH, which whoever
// starts an engine could set. Errors: NotFound listing the places searched.
StatusOr<std::string> FindRealRuntime(const sys::Root& host,
                                      const std::vector<std::string>& runtimes,
                                      const struct stat& self);

// The environment for the real runtime, null-terminated: `environment` plus `marker`, both
// borrowed; `marker` becomes "KGPU_RUNTIME_PID=<pid>". execve keeps the pid, so a copy of this
// program that is started as the real runtime finds its own pid there; programs that a container's
// tools start later find another's. Errors: FailedPrecondition (this is such a copy).
StatusOr<std::vector<char*>> MarkedEnvironment(char** environment, pid_t pid, std::string& marker);

}  // namespace kgpu::shim
