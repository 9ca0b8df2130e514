// The runtime behind the shim.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::shim {

// The path of the first of `runtimes` that is an executable file on `host`, but not the file `self`
// describes. Names are looked for in the folders of system programs, never in $PATH, which whoever
// starts an engine may set. Errors: NotFound listing what was looked for.
StatusOr<std::string> FindRealRuntime(const sys::Root& host,
                                      const std::vector<std::string>& runtimes,
                                      const struct stat& self);

// The environment for the real runtime, with a null at the end: `environment` and `marker`, which
// borrows both and becomes "KGPU_RUNTIME_PID=<pid>". execve keeps the number of a process, so a
// copy of this program that is started as the real runtime finds its own; what a container's tools
// start further down finds another's. Errors: FailedPrecondition (this is such a copy).
StatusOr<std::vector<char*>> MarkedEnvironment(char** environment, pid_t pid, std::string& marker);

}  // namespace kgpu::shim
