// systemctl of a host, as a command: who runs it decides how long it may take and what a failure
// is.
#pragma once

#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::sys {

// {"/usr/bin/systemctl", "restart", …} of `words`. Errors: FailedPrecondition (the host has none).
StatusOr<std::vector<std::string>> SystemctlCommand(const Root& host,
                                                    std::vector<std::string> words);

}  // namespace kgpu::sys
