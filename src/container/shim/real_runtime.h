// The runtime behind the shim.
#pragma once

#include <sys/stat.h>

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

}  // namespace kgpu::shim
